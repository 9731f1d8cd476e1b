// Runs all test files in Node's own context, instead of a separate context for each file. The test files and the
// libraries, which a worker loads only once (runtime.cjs), then have the same `Error`, `Date` and `Reflect`. Without
// this file and runtime.cjs, Jest would need transforms for the libraries that are ES modules.
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

/** The object that Jest gets instead of a context of `node:vm`. The object represents Node's own context. */
const OWN_CONTEXT = Object.freeze({});

const { compileFunction } = vm;
/**
 * The compiled modules of the project by file name. Each test file runs these modules again, without compiling them
 * again.
 */
const compiled = new Map();

vm.compileFunction = (code, parameters, options = {}) => {
  if (options.parsingContext !== OWN_CONTEXT) return compileFunction(code, parameters, options);
  const { filename } = options;
  const names = String(parameters);
  const known = compiled.get(filename);
  if (known?.code === code && known.names === names) return known.run;
  const run = compileFunction(code, parameters, { filename });
  compiled.set(filename, { code, names, run });
  return run;
};

module.exports = class OwnContext extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const { env, exit, getBuiltinModule } = process;
    // Jest replaces these functions of the process for each test file. They are restored after the test file.
    this.before = {
      names: new Set(Object.keys(globalThis)),
      env: { ...env },
      process: { exit, getBuiltinModule },
      console,
    };
    this.global = globalThis;
    this.moduleMocker = new this.moduleMocker.constructor(globalThis);
    this.fakeTimers.dispose();
    this.fakeTimers = null;
    this.fakeTimersModern = new this.fakeTimersModern.constructor({ config: config.projectConfig, global: globalThis });
  }

  getVmContext() {
    return OWN_CONTEXT;
  }

  /**
   * Restores the libraries and the global objects. The global objects include the metadata that libraries keep about
   * the classes of the test file.
   */
  async teardown() {
    this.moduleMocker.restoreAllMocks();
    await super.teardown();
    const { names, env, console } = this.before;
    for (const name of Object.keys(globalThis)) if (!names.has(name)) delete globalThis[name];
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    Object.assign(process, this.before.process);
    globalThis.console = console;
  }
};
