"""The sketch on which the second form of `tares` was developed: python sketch_hidden.py DATA SET[,SET...] VARIANT[,VARIANT...]. Needs NumPy, pandas and scikit-learn.

The held-out tables are refused. Noises and two seeds are trained side by side in one batched mlp 128-128, as in sketch.py: Adam 1e-3, batches of 128, constant for 40 % of the
epochs, then linear to 0 with beta1 0.1. One line per variant and set: accuracy over the last epochs, F1 of the rejected labels, estimated rate, for each noise. Results: results/method/README.md.
"""
import os, sys, time, gzip
os.environ["OPENBLAS_NUM_THREADS"]="1"; os.environ["OMP_NUM_THREADS"]="1"
import numpy as np, pandas as pd
DATA=sys.argv[1]
def idx(path):
    b = gzip.open(path).read(); d=[int.from_bytes(b[4+4*i:8+4*i],"big") for i in range(b[3])]
    return np.frombuffer(b,np.uint8,offset=4+4*len(d)).reshape(d)
_cache={}
def load(name):
    if name in _cache: return _cache[name]
    if name.startswith("mnist"):
        rows=int(name[5:]); small=lambda x:x.reshape(-1,14,2,14,2).mean((2,4)).reshape(len(x),-1)/255
        p=lambda k:(idx(f"{DATA}/mnist/{k}-images-idx3-ubyte.gz"),idx(f"{DATA}/mnist/{k}-labels-idx1-ubyte.gz"))
        (x,y),(xt,yt)=p("train"),p("t10k"); x,y,xt,yt=small(x[:rows]),y[:rows],small(xt[:4000]),yt[:4000]
    elif name=="digits":
        r=lambda p:np.loadtxt(gzip.open(p,"rt"),delimiter=",")
        a,b=r(f"{DATA}/optdigits/optdigits.tra.gz"),r(f"{DATA}/optdigits/optdigits.tes.gz")
        x,y,xt,yt=a[:,:-1]/16,a[:,-1],b[:,:-1]/16,b[:,-1]
    else:
        rng=np.random.default_rng(5)
        if name=="breast":
            from sklearn.datasets import load_breast_cancer; x,y=load_breast_cancer(return_X_y=True)
        elif name.startswith("synth"):
            from sklearn.datasets import make_classification
            n=int(name[5:] or 4000); x,y=make_classification(n+2000,20,n_informative=10,n_redundant=4,n_clusters_per_class=4,class_sep=1.2,flip_y=0,random_state=3)
        elif name=="moons":
            from sklearn.datasets import make_moons
            x,y=make_moons(5000,noise=.2,random_state=3); x=np.c_[x,rng.normal(size=(5000,13))]
        else:
            assert name in ("phoneme","kr-vs-kp","ozone","mfeat-factors","anneal","contraceptive"), name
            f=pd.read_csv(f"{DATA}/tables/{name}.csv.gz",na_values="?",encoding="utf-8-sig")
            y=pd.factorize(f.iloc[:,-1],sort=True)[0]; f=f.iloc[:,:-1]
            num=f.select_dtypes("number"); num=num.fillna(num.mean()).fillna(0)
            cat=f.drop(columns=num.columns)
            x=np.c_[num.to_numpy(float), pd.get_dummies(cat.astype(str)).to_numpy(float)] if cat.shape[1] else num.to_numpy(float)
        o=rng.permutation(len(x)); x,y=x[o],y[o]; k=len(x)//5 if not name.startswith("synth") else 2000
        xt,yt,x,y=x[:k],y[:k],x[k:],y[k:]; m,s=x.mean(0),x.std(0)+1e-9; x,xt=(x-m)/s,(xt-m)/s
    _cache[name]=(x.astype(np.float32),y.astype(int),xt.astype(np.float32),yt.astype(int)); return _cache[name]
def noisy(y,noise,seed):
    kind,_,rate=noise.partition(":"); d=np.random.default_rng(1000+seed); z=y.copy(); k=int(y.max())+1
    if kind!="none":
        h=d.random(len(y))<float(rate); z[h]=(y[h]+(d.integers(1,k,h.sum()) if kind=="sym" else 1))%k
    return z
def softmax(z):
    e=np.exp(z-z.max(-1,keepdims=True)); return e/e.sum(-1,keepdims=True)
def onehot(y,k): return np.eye(k,dtype=np.float32)[y]
def forward(w,x):
    a=[x]
    for j in range(0,len(w),2):
        x=np.matmul(x,w[j])+w[j+1]
        if j<len(w)-2: x=np.maximum(x,0); a.append(x)
    return x,a
def run(method,name,noises,seeds,epochs,width=128,trace=None):
    x,truth,xt,yt=load(name); K=int(truth.max())+1; pairs=[(n,s) for n in noises for s in seeds]
    given=np.stack([noisy(truth,n,s) for n,s in pairs]); R,N=given.shape
    rates=np.array([float(n.partition(":")[2] or 0) for n,_ in pairs],np.float32)
    m=method(R,N,K,given,epochs); m.rates=rates; nets=getattr(m,"nets",1); m.truth=truth
    w=[]
    for li,(a,b) in enumerate([(x.shape[1],width),(width,width),(width,K)]):
        for d in (a,1):
            w.append(np.concatenate([np.stack([((np.random.default_rng([s,li,d,net]).random((d,b),np.float32)*2-1)/a**.5) for _,s in pairs]) for net in range(nets)]).astype(np.float32))
    M=[np.zeros_like(v) for v in w]; V=[np.zeros_like(v) for v in w]; avg=[v.copy() for v in w] if getattr(m,"average",0) else None
    order=[np.random.default_rng([s,77]) for s in seeds]; start=round(.4*epochs); accs=[]; t=0; b1p=1.;b2p=1.
    wd=m.weight_decay; m.predict_all=lambda: forward(w,x[None])[0]
    for e in range(epochs):
        lr=1e-3*(1 if e<start else (epochs-e)/(epochs-start)); b1=.9 if e<start or m.noturn else .1
        m.begin(e)
        perm=np.random.default_rng([e,seeds[0],77]).permutation(N)
        for i in np.split(perm,range(128,N,128)):
            z,acts=forward(w,x[i][None]); g=m.grad(z,i,e)
            t+=1; b1p*=b1; b2p*=.999
            for j in range(len(w)-2,-1,-2):
                gw=np.matmul(acts[j//2].transpose(0,2,1),g); gb=g.sum(1,keepdims=True)
                if j: gn=np.matmul(g,w[j].transpose(0,2,1))*(acts[j//2]>0)
                for q,gg in ((j,gw),(j+1,gb)):
                    if wd: gg=gg+wd*w[q]
                    M[q]*=b1; M[q]+=(1-b1)*gg; V[q]*=.999; V[q]+=.001*gg*gg
                    u=np.sqrt(V[q]/(1-b2p)); u+=1e-8; np.divide(M[q],u,out=u); u*=lr/(1-b1p); w[q]-=u
                if j: g=gn
            if avg is not None:
                for a_,v in zip(avg,w): a_*=m.average; a_+=(1-m.average)*v
        if trace is not None or e>=epochs-(10 if epochs>=40 else max(1,epochs//4)):
            z=forward(avg if avg is not None else w,xt[None])[0]; acc=(z.argmax(2)==yt).mean(1)*100
            if nets==2: acc=(acc[:R]+acc[R:])/2
            if trace is not None: trace(e,m,acc,given,truth)
            if e>=epochs-(10 if epochs>=40 else max(1,epochs//4)): accs.append(acc)
    l,wr=m.wrong(),given!=truth
    f1=2*(l&wr).sum(1)/np.maximum(1,l.sum(1)+wr.sum(1))
    S=len(seeds); r=lambda v:np.asarray(v).reshape(len(noises),S)
    return r(np.mean(accs,0)),r(f1),r(m.rate())
class Plain:
    weight_decay=0.; noturn=False; average=0
    def __init__(s,R,N,K,given,epochs):
        s.R,s.N,s.K,s.given,s.epochs=R,N,K,given,epochs; s.labels=onehot(given,K); s.t=np.zeros((R,N,K),np.float32); s.init()
    def init(s): pass
    def begin(s,e): pass
    def grad(s,z,i,e):
        p=softmax(z); s.t[:,i]=p; return (p-s.labels[:,i])/len(i)
    def wrong(s): return s.t.argmax(2)!=s.given
    def rate(s): return s.wrong().mean(1)
class Decay(Plain): weight_decay=1e-3
class Elr(Plain):
    beta=.7; lam=3.
    def grad(s,z,i,e):
        p=softmax(z); c=np.clip(p,1e-4,1-1e-4)
        t=s.t[:,i]=s.beta*s.t[:,i]+(1-s.beta)*c/c.sum(2,keepdims=True)
        ip=(t*c).sum(2,keepdims=True); d=np.maximum(1-ip,1e-4); act=(1-ip>1e-4)
        # d log(1-<t,p>)/dz = -(p*(t-<t,p>))/(1-<t,p>)
        gr=-(p*(t-(t*p).sum(2,keepdims=True)))/d*act
        return (p-s.labels[:,i]+s.lam*gr)/len(i)
class CoTeaching(Plain):
    nets=2
    def init(s): s.t=np.zeros((2*s.R,s.N,s.K),np.float32)
    def grad(s,z,i,e):
        p=softmax(z); m=len(i); R=s.R; s.t[:,i]=p; lab=np.concatenate([s.labels[:,i]]*2)
        l=-np.log(np.maximum((p*lab).sum(2),1e-30)); forget=s.rates*min(1,(e)/10 if e<10 else 1)
        g=np.zeros_like(p)
        for r in range(R):
            k=int((1-forget[r])*m)
            for a,b in ((r,R+r),(R+r,r)):
                kept=np.argsort(l[b],kind="stable")[:k]; g[a,kept]=(p[a,kept]-lab[a,kept])/max(1,k)
        return g
    def wrong(s): return s.t[:s.R].argmax(2)!=s.given
class Tares(Plain):
    burn=.2; sharp_from=.6; first=1.; last=2.; beta=.7; surest=.5
    def init(s): s.q=s.labels.copy(); s.start=max(1,round(s.burn*s.epochs)); s.T=None
    def answers(s,t): return t/np.maximum(t.sum(2,keepdims=True),1e-9)
    def count(s,t,part):
        R,K=s.R,s.K; T=np.empty((R,K,K),np.float32); sure=t.max(2); best=t.argmax(2)
        for r in range(R):
            for k in range(K):
                rows=np.nonzero(best[r]==k)[0]; rows=rows[np.argsort(-sure[r,rows],kind="stable")[:int(np.ceil(part*len(rows)))]]
                c=np.bincount(s.given[r,rows],minlength=K)+1./K; c[k]+=1; T[r,k]=c/c.sum()
        return T
    def gamma(s,e):
        return s.first+(s.last-s.first)*min(1,max(0,(e-s.start)/max(1,s.sharp_from*s.epochs-s.start)))
    def believe(s,t,i):
        q=np.maximum(t,1e-4)**s.g*np.stack([s.T[r][:,s.given[r,i]].T for r in range(s.R)]); return q/q.sum(2,keepdims=True)
    def begin(s,e):
        if e<s.start: return
        s.g=s.gamma(e); s.T=s.count(s.answers(s.t),s.surest)
    def remember(s,p,i,e):
        d=np.maximum(p,1e-4); t=s.t[:,i]=s.beta*s.t[:,i]+(1-s.beta)*d/d.sum(2,keepdims=True); return s.answers(t)
    def grad(s,z,i,e):
        p=softmax(z); t=s.remember(p,i,e)
        if e<s.start: return s.burn_grad(z,p,t,i,e)
        q=s.q[:,i]=s.believe(t,i); return (p-q)/len(i)
    def burn_grad(s,z,p,t,i,e): return (p-s.labels[:,i])/len(i)
    def right(s): return np.take_along_axis(s.q,s.given[:,:,None],2)[:,:,0]
    def wrong(s): return s.right()<.5
    def rate(s): return 1-s.right().mean(1)
class Hidden(Tares):
    """The second form: a tenth of the rows is not learnt from in the burn-in. Their labels end it (share of what is memorised > tau, gap > z
    standard errors, at the latest after `burn` of the epochs) and tell how often labels are wrong (T is scaled to that)."""
    hidden=.1; tau=.25; z=3.; burn=.3; rise=.3; scale=True
    def init(s):
        super().init(); s.starts=np.full(s.R,-1); s.wrong_hidden=np.zeros(s.R); s.gammas=np.ones(s.R,np.float32)
        s.mask=np.zeros(s.N,bool); s.mask[np.random.default_rng(9).permutation(s.N)[:int(s.hidden*s.N)]]=True
        s.chance=(s.labels.mean(1)**2).sum(1); s.T=np.repeat(np.eye(s.K,dtype=np.float32)[None],s.R,0)
    def sure(s,t,r,among):
        best=t[r].argmax(1); rows=[np.nonzero((best==k)&among)[0] for k in range(s.K)]
        return [w[np.argsort(-t[r,w,k],kind="stable")[:int(np.ceil(s.surest*len(w)))]] for k,w in enumerate(rows)]
    def disagreement(s,r,sure): return (sum((s.given[r,w]!=k).sum() for k,w in enumerate(sure))+.5)/(sum(map(len,sure))+1)
    def memorised(s,t,r):
        y=t[r][np.arange(s.N),s.given[r]]; v,h=y[~s.mask],y[s.mask]; gap=v.mean()-h.mean()
        return gap>s.z*np.sqrt(v.var()/len(v)+h.var()/len(h)) and gap>s.tau*max(v.mean()-s.chance[r],1e-9)
    def begin(s,e):
        t=s.answers(s.t)
        for r in range(s.R):
            if s.starts[r]<0 and e>0 and (e>=s.start or s.memorised(t,r)):
                s.starts[r]=e; s.wrong_hidden[r]=s.disagreement(r,s.sure(t,r,s.mask)) if s.scale else 0
            if s.starts[r]<0: continue
            s.gammas[r]=s.first+(s.last-s.first)*min(1,(e-s.starts[r])/max(1,s.rise*s.epochs))
            sure=s.sure(t,r,np.ones(s.N,bool)); T=np.eye(s.K)+1/s.K+np.stack([np.bincount(s.given[r,w],minlength=s.K) for w in sure]); T/=T.sum(1,keepdims=True)
            off=1-np.diag(T); more=np.minimum(off*max(1,s.wrong_hidden[r]/s.disagreement(r,sure)),np.maximum(off,1-1/s.K))
            T*=(more/off)[:,None]; np.fill_diagonal(T,1-more); s.T[r]=T
        s.g=s.gammas[:,None,None]
    def grad(s,z,i,e):
        p=softmax(z); t=s.remember(p,i,e); young=(s.starts<0)[:,None,None]
        q=s.q[:,i]=np.where(young,s.labels[:,i],s.believe(t,i)); q=np.where(young&s.mask[i][None,:,None],p,q); return (p-q)/len(i)
def but(**more): return type("Variant",(Hidden,),more)
V={"standard":Plain,"tuned":Decay,"elr":Elr,"co-teaching":CoTeaching,"tares":Tares,"hidden":Hidden,
 "no end":but(tau=9.),"no scale":but(scale=False),"hide .2":but(hidden=.2),"burn-in .2":but(burn=.2),"burn-in .4":but(burn=.4),"to 3":but(last=3.),"to 1.5":but(last=1.5),"from 2":but(first=2.),"surest .25":but(surest=.25),"averaged":but(average=.995),"decay":but(weight_decay=1e-3)}
TWO=["none","sym:.2","sym:.4"]; TEN=["none","sym:.2","sym:.5","sym:.8","pair:.35","pair:.45"]
SETS={"phoneme":(40,TWO),"kr-vs-kp":(40,TWO),"synth4000":(40,TWO),"synth8000":(40,TWO),"moons":(40,TWO),"breast":(40,TWO),"ozone":(40,TWO),
 "digits":(30,TEN),"mnist5000":(40,TEN),"mfeat-factors":(40,TEN),"anneal":(40,TWO),"contraceptive":(40,TWO),"digits60":(60,TEN),"mnist10000":(20,TEN)}
def bench(names,sets,seeds=(1,2)):
    for n in names:
        for st in sets:
            ep,no=SETS[st]; t0=time.time(); a,f,r=run(V[n],"digits" if st=="digits60" else st,no,list(seeds),ep,128)
            print(f"{n:24} {st:10}", " | ".join(f"{x:.1f} f{y:.2f} r{z:.2f}" for x,y,z in zip(a.mean(1),f.mean(1),r.mean(1))), f"mean {a.mean():.2f}  {time.time()-t0:.0f}s",flush=True)
if __name__=="__main__": bench(sys.argv[3].split(","),sys.argv[2].split(","))
