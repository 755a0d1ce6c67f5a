//! Jobs of linear algebra. The crate faer computes products and decompositions; the engine distributes and
//! joins them. It is a crate of its own because faer takes long to build.

mod dense;
mod ordered_sum;
mod pca;
mod product;
mod room;

pub use pca::Pca;
pub use product::product;
