// Estimates how many guesses a password withstands. password-strength.ts runs this file in a thread.
const { parentPort } = require('node:worker_threads');
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

parentPort.on('message', ({ password, known }) => {
  try {
    parentPort.postMessage({ result: estimator.check(password, known).guesses });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
