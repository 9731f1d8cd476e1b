import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder, ServiceProcess } from '../support/process';

type Part = Record<string, unknown>;

function withoutExamples(document: Part): Part {
  const text = JSON.stringify(document, (name, value: unknown) => (/^examples?$/.test(name) ? undefined : value));
  return JSON.parse(text) as Part;
}

/**
 * Checks that the service still works after a bundler has merged its many modules into one file. A module could lose
 * the files next to it, a class could lose its name, and a package could be included twice.
 */
describe('the bundled service', () => {
  const data = dataFolder();
  let service: ServiceProcess;
  let url: string;

  beforeAll(async () => {
    service = await ServiceProcess.start(data.path, { LOG_LEVEL: 'debug' });
    url = service.server.base_url;
  }, 180_000);

  afterAll(async () => {
    await service?.stop();
    data.remove();
  });

  it('the bundled service serves the same OpenAPI document as the service that runs from its sources', async () => {
    const committed = JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')) as Part;
    const served = (await (await fetch(`${url}/openapi.json`)).json()) as Part;
    // The bundled service runs as a sandbox, so its OpenAPI document also contains the tools, codes and address of the
    // sandbox. The comparison leaves out these additions.
    const paths = served['paths'] as Part;
    const tools = Object.keys(paths).filter((path) => path.startsWith('/sandbox/'));
    const named = JSON.stringify(tools.map((path) => paths[path]));
    for (const path of tools) delete paths[path];
    served['tags'] = (served['tags'] as { name: string }[]).filter(({ name }) => name !== 'Sandbox');
    const { schemas } = committed['components'] as { schemas: Part };
    const models = (served['components'] as { schemas: Part }).schemas;
    for (const name of Object.keys(models)) if (named.includes(`/${name}"`) && !(name in schemas)) delete models[name];
    expect({ ...withoutExamples(served), servers: null }).toEqual({ ...withoutExamples(committed), servers: null });
  });

  it('the bundle contains only ASCII, so that V8 stores its text with one byte per character', () => {
    const text = readFileSync(join(__dirname, '../../dist/main.js'), 'latin1');
    expect(text.match(/.{0,20}[^\x00-\x7f].{0,20}/g)).toBeNull();
  });

  it.each(['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css'])('the bundled service serves %s', async (path) => {
    const answer = await fetch(url + path);
    expect({ status: answer.status, empty: (await answer.text()) === '' }).toEqual({ status: 200, empty: false });
  });

  it('the bundled service serves the console and its files', async () => {
    const page = await fetch(`${url}/console/queue`);
    const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) expect([file, (await fetch(new URL(file, page.url))).status]).toEqual([file, 200]);
  });

  it('the bundled service checks a password and validates a body', async () => {
    const { client, account_code } = service.sandbox;
    const token = await service.token(client);
    const refused = await service.call(token, 'POST', `/accounts/${account_code}/candidates`, { candidate: 1 });
    expect(refused.status).toBe(400);
    expect(refused.body.errors.length).toBeGreaterThan(1);
  });

  it('the bundled service logs the original names of its classes', () => {
    const initialized = [...service.output.matchAll(/"context":"(\w+)","msg":"(\w+) dependencies initialized"/g)];
    expect(initialized.map(([, , name]) => name)).toEqual(expect.arrayContaining(['TypeOrmModule', 'CqrsModule']));
    const renamed = initialized.flatMap(([, ...names]) => names).filter((name) => /^_|\d$/.test(name));
    expect(renamed).toEqual([]);
  });
});
