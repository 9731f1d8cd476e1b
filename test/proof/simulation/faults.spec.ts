import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { PLANTED } from './faults';

const root = join(__dirname, '../../..');
const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
  config: object;
};
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);

/** Returns the JavaScript that `npm run build` generates for a source file. */
function compiled(file: string): string {
  const fileName = join(root, 'src', file.replace(/\.js$/, '.ts'));
  return ts.transpileModule(readFileSync(fileName, 'utf8'), { compilerOptions: options, fileName }).outputText;
}

test.each(PLANTED.map((fault) => [fault.name, fault] as const))(
  'the code that the simulation changes to plant a fault occurs exactly once in its file: %s',
  (_, { file, find }) => {
    expect(compiled(file).split(find)).toHaveLength(2);
  },
);
