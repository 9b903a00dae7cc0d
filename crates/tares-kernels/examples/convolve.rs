//! Our side of `compare/rounding/run`: convolutions and their gradients on demand.
//!
//! `convolve DIRECTORY` answers every line `n channels height width outputs kernel stride padding` with `done`. It reads `x`, `weight` and
//! the gradient `dy` of the output from files of 32-bit floats in the directory, and writes the output `y` and the gradients `dx` and
//! `dweight` beside them.

use burn::tensor::{Device, Tensor, TensorData};
use std::io::{BufRead, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("convolve: name the directory of the operands")?;
    let directory = Path::new(&directory);
    let device = Device::flex().autodiff();
    let read = |name: &str, shape: [usize; 4]| -> std::io::Result<Tensor<4>> {
        let bytes = std::fs::read(directory.join(name))?;
        let values = bytes.as_chunks().0.iter().map(|float| f32::from_le_bytes(*float)).collect();
        Ok(Tensor::from_data(TensorData::new::<f32, _>(values, shape), &device))
    };
    let write = |name: &str, tensor: Tensor<4>| -> Result<(), Box<dyn std::error::Error>> {
        let values = tensor.into_data().try_to_vec::<f32>()?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Ok(std::fs::write(directory.join(name), bytes)?)
    };
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let numbers = line.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let [n, channels, height, width, outputs, kernel, stride, padding] = numbers[..] else {
            return Err(format!("eight numbers expected, got {line:?}").into());
        };
        let x = read("x", [n, channels, height, width])?.require_grad();
        let weight = read("weight", [outputs, channels, kernel, kernel])?.require_grad();
        let y = tares_kernels::conv2d(x.clone(), weight.clone(), None, [stride; 2], [padding; 2]);
        let dy = read("dy", y.dims())?;
        let gradients = y.clone().mul(dy).sum().backward();
        write("y", y.inner())?;
        write("dx", x.grad(&gradients).expect("a gradient of the input"))?;
        write("dweight", weight.grad(&gradients).expect("a gradient of the weight"))?;
        println!("done");
        std::io::stdout().flush()?;
    }
    Ok(())
}
