// The compiled files are in {root}console/assets/, below any prefix of a gateway. Two expressions are needed, because
// the bundler would treat a single expression as the address of a file.
const here = import.meta.url;

/** The address of the service, with a trailing slash. */
export const ROOT = new URL('../../', here);

/** The path of the console, without a trailing slash. */
export const CONSOLE_PATH = `${ROOT.pathname}console`;
