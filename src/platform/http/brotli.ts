import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const compress = promisify(brotliCompress);
const params = { [constants.BROTLI_PARAM_QUALITY]: 6 };

/** Compresses a text that is compressed once and sent often (RFC 7932). */
export function brotli(text: string | Buffer): Promise<Buffer> {
  return compress(text, { params });
}
