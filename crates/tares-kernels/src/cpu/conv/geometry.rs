//! The shapes of one convolution, and the sizes that follow from them.

/// Shapes of `y = conv2d(x, weight)`: `x [n, ci, h, w]`, `weight [co, ci, kh, kw]`, `y [n, co, oh, ow]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub n: usize,
    pub ci: usize,
    pub h: usize,
    pub w: usize,
    pub co: usize,
    pub kh: usize,
    pub kw: usize,
    pub stride: [usize; 2],
    pub padding: [usize; 2],
}

impl Geometry {
    /// Checks that the shapes belong together.
    ///
    /// # Panics
    /// When they don't: shapes are the calling network's own affair, so the message names them all.
    pub fn new(x: [usize; 4], weight: [usize; 4], stride: [usize; 2], padding: [usize; 2]) -> Self {
        let ([n, ci, h, w], [co, ci_weight, kh, kw]) = (x, weight);
        assert!(ci == ci_weight, "conv2d: input {x:?} has {ci} channels, weight {weight:?} expects {ci_weight}");
        assert!(
            kh > 0 && kw > 0 && stride[0] > 0 && stride[1] > 0,
            "conv2d: empty kernel {weight:?} or stride {stride:?}"
        );
        assert!(
            h + 2 * padding[0] >= kh && w + 2 * padding[1] >= kw,
            "conv2d: kernel {weight:?} is larger than input {x:?} with padding {padding:?}"
        );
        Self { n, ci, h, w, co, kh, kw, stride, padding }
    }

    /// Rows of the output.
    pub fn oh(&self) -> usize {
        (self.h + 2 * self.padding[0] - self.kh) / self.stride[0] + 1
    }

    /// Columns of the output.
    pub fn ow(&self) -> usize {
        (self.w + 2 * self.padding[1] - self.kw) / self.stride[1] + 1
    }

    /// Pixels of one input plane.
    pub fn plane(&self) -> usize {
        self.h * self.w
    }

    /// Pixels of one output plane.
    pub fn out_plane(&self) -> usize {
        self.oh() * self.ow()
    }

    /// Elements of one kernel plane.
    pub fn taps(&self) -> usize {
        self.kh * self.kw
    }

    /// Shape of the output.
    pub fn out_shape(&self) -> [usize; 4] {
        [self.n, self.co, self.oh(), self.ow()]
    }

    /// Whether the lowered matrix is the input itself.
    pub fn is_pointwise(&self) -> bool {
        self.taps() == 1 && self.stride == [1, 1] && self.padding == [0, 0]
    }
}
