//! Jobs of linear algebra: the products and decompositions are those of the crate faer, shared out and
//! put together by the engine. A crate of their own, for faer takes a while to build.

mod dense;
mod ordered_sum;
mod pca;
mod product;

pub use pca::Pca;
pub use product::product;
