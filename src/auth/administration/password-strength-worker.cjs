// A thread that estimates how many guesses find a password; password-strength.ts is its other side.
const { parentPort } = require('node:worker_threads');
const { ZxcvbnFactory } = require('@zxcvbn-ts/core');
const common = require('@zxcvbn-ts/language-common');
const english = require('@zxcvbn-ts/language-en');

const estimator = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  // With the default of 100 a password of nothing but look-alikes takes seconds.
  l33tMaxSubstitutions: 10,
});

parentPort.on('message', ({ password, known }) => {
  try {
    parentPort.postMessage({ result: estimator.check(password, known).guesses });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
