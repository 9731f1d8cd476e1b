// The compiled files lie in {root}console/assets/, whatever prefix a gateway puts before them. Not in one expression, which
// the bundler would take for the address of a file.
const here = import.meta.url;

/** Where the service is, with an ending slash. */
export const ROOT = new URL('../../', here);

/** Where the console is, without an ending slash. */
export const CONSOLE_PATH = `${ROOT.pathname}console`;
