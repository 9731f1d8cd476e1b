/**
 * The files in clients/ that contain the version of the release. In a JSON file, the version is the value of `version`.
 * In any other file, the version follows the text that matches the `version` given here. The version of a Go module is
 * only in its git tag.
 */
export const CLIENT_VERSIONS = [
  { path: 'clients/partner/package.json' },
  { path: 'clients/typescript/package.json' },
  { path: 'clients/php/composer.json' },
  { path: 'clients/python/pyproject.toml', version: /^(version = ")[^"]+/gm },
  { path: 'clients/java/pom.xml', version: /^( {2}<version>)[^<]+/gm },
];
