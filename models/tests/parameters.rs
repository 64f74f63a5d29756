//! How many parameters a loaded model says it has: as its card does, however they
//! are stored.

use linnet_models::{LoadOptions, load_model};

#[test]
fn bundled_models_have_the_parameters_of_their_cards() {
    for (name, parameters) in [("tales-gpt2", 3_554_304), ("tales-gpt-oss", 2_970_560)] {
        let model = load_model(name, LoadOptions::default()).unwrap();
        assert_eq!(model.parameters(), parameters, "{name}");
    }
}
