//! Convolution, batch norm and other operations at the speed of the CPU, as a plug-in for Burn.
