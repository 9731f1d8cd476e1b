// Loads libraries with Node's own `require`, once for each worker instead of once for each test file. Jest loads the
// modules of the project for each test file, so that no state of these modules is kept for the next test file.
const { createRequire, isBuiltin } = require('node:module');
const { dirname, sep } = require('node:path');
const { default: Runtime } = require('jest-runtime');

const INSTALLED = `${sep}node_modules${sep}`;
/**
 * The loaded libraries, by the folder of the importing module and the imported name. The value is null if the name
 * refers to a module of the project.
 */
const libraries = new Map();

module.exports = class SharedLibraries extends Runtime {
  requireModuleOrMock(from, name) {
    return library(from, name) ?? super.requireModuleOrMock(from, name);
  }

  requireActual(from, name) {
    return library(from, name) ?? super.requireActual(from, name);
  }
};

function library(from, name) {
  if (/^[./]/.test(name) || isBuiltin(name) || name === '@jest/globals') return null;
  const key = `${dirname(from)} ${name}`;
  if (!libraries.has(key)) {
    const load = createRequire(from);
    libraries.set(key, load.resolve(name).includes(INSTALLED) ? load(name) : null);
  }
  return libraries.get(key);
}
