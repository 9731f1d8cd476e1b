import Module from 'node:module';

// Jest's moduleNameMapper does not apply to its global setup, where `./x.js` must also resolve to the source `./x.ts`.
type Resolve = (request: string, ...rest: unknown[]) => string;
const loader = Module as unknown as { _resolveFilename: Resolve };
const resolve = loader._resolveFilename;
loader._resolveFilename = (request, ...rest) => {
  try {
    return resolve(request, ...rest);
  } catch (error) {
    if (!/^\.{1,2}\/.*\.js$/.test(request)) throw error;
    return resolve(request.replace(/\.js$/, '.ts'), ...rest);
  }
};
