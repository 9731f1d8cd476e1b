/**
 * The files of clients/ that contain the version of the release. A JSON file has it in `version`; in other files, the
 * version follows the text that `version` matches. The version of a Go module is only in its git tag.
 */
export const CLIENT_VERSIONS = [
  { path: 'clients/partner/package.json' },
  { path: 'clients/typescript/package.json' },
  { path: 'clients/php/composer.json' },
  { path: 'clients/python/pyproject.toml', version: /^(version = ")[^"]+/gm },
  { path: 'clients/java/pom.xml', version: /^( {2}<version>)[^<]+/gm },
];
