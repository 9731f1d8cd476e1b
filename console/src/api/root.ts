// The compiled files are in {root}console/assets/. The root includes the path prefix of a gateway, if there is one. The
// bundler would treat `new URL(…, import.meta.url)` as the address of a file to include. The constant `here` prevents
// this.
const here = import.meta.url;

/** The address of the service, with a trailing slash. */
export const ROOT = new URL('../../', here);

/** The path of the console, without a trailing slash. */
export const CONSOLE_PATH = `${ROOT.pathname}console`;
