// Lets a worker process run the TypeScript sources. They are compiled in the same way as Jest compiles them.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { transformSync } = require('@swc/core');
const options = require('./swc-options.cjs');

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    ...options,
    filename,
  });
  module._compile(code, filename);
};

const resolve = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) => {
  try {
    return resolve(request, ...rest);
  } catch (error) {
    if (!/^\.{1,2}\/.*\.js$/.test(request)) throw error;
    return resolve(request.replace(/\.js$/, '.ts'), ...rest);
  }
};
