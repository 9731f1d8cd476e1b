// The process that estimates how many guesses a password withstands. password-strength.ts starts this process, which
// ends when the channel to its parent closes.
require('../../platform/worker-start.cjs');
const { ZxcvbnFactory } = require('@zxcvbn-ts/core');
const common = require('@zxcvbn-ts/language-common');
const english = require('@zxcvbn-ts/language-en');

const estimator = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  // Limits the number of substitutions that are tried. With the default of 100, the estimate takes seconds for a
  // password that consists only of look-alike characters.
  l33tMaxSubstitutions: 10,
});

process.on('message', ({ password, known }) => {
  try {
    process.send({ result: estimator.check(password, known).guesses });
  } catch (error) {
    process.send({ error: error.message });
  }
});
