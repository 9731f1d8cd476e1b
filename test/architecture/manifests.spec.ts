import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';

const root = join(__dirname, '../..');
const folder = 'deploy/kubernetes';
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  spec: Record<string, any>;
}

const manifestsIn = (file: string) => parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest);
// These are Helm's renderings of deploy/chart. scripts/helm.mjs checks that they are up to date.
const manifests = manifestsIn('test/fixtures/chart/plain.yaml');
const everything = manifestsIn('test/fixtures/chart/everything.yaml');
const cells = ['A', 'B'].map((letter) => ({
  letter,
  manifests: manifestsIn(`test/fixtures/chart/cell-${letter.toLowerCase()}.yaml`),
}));
const named = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const pods = manifests.flatMap(({ spec }) => (spec['template'] ? [spec['template'].spec as Record<string, any>] : []));

/**
 * Checks manifests against the types in Kubernetes' own OpenAPI document. Finds unknown members, wrong types and
 * missing members.
 */
function faultsOf(checked: Manifest[]): string[] {
  const source = checked
    .map((manifest, n) => {
      const module = manifest.apiVersion === 'v1' ? 'core/v1' : manifest.apiVersion.replace(/\.k8s\.io(?=\/)/, '');
      return (
        `import type { ${manifest.kind} as T${n} } from 'kubernetes-types/${module}';\n` +
        `export const m${n}: T${n} = ${JSON.stringify(manifest)};`
      );
    })
    .join('\n');
  const file = join(root, 'test/architecture/manifests.generated.ts');
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [] };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

describe('the manifests that the Helm chart renders', () => {
  it('the chart renders valid Kubernetes manifests', () => {
    expect(manifests.length).toBeGreaterThan(9);
    expect(faultsOf(manifests)).toEqual([]);
    for (const cell of cells) expect(faultsOf(cell.manifests)).toEqual([]);
    // ServiceMonitor is not checked, because this type belongs to the Prometheus operator and not to Kubernetes.
    expect(faultsOf(everything.filter(({ kind }) => kind !== 'ServiceMonitor'))).toEqual([]);
  });

  it("the tag of the service's image in the manifests is the version of the service", () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('deploy/chart/Chart.yaml'))).toMatchObject({ version, appVersion: version });
    expect(parse(read(`${folder}/kustomization.yaml`))).toMatchObject({ images: [{ newTag: version }] });
    const images = [...manifests, ...cells.flatMap(({ manifests: ofCell }) => ofCell)].flatMap(({ spec }) =>
      ((spec['template']?.spec.containers ?? []) as { image: string }[]).map(({ image }) => image),
    );
    expect(images.length).toBe(9);
    for (const image of images) expect(image.split(':')[1]).toBe(version);
  });

  it("the manifests for a cell set the cell's letter and address, and have the same objects as those without cells", () => {
    const environment = (of: Manifest[]) =>
      of
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ spec }) => spec['template'].spec.containers[0].env as { name: string; value?: string }[]);
    for (const { letter, manifests: ofCell } of cells) {
      for (const env of environment(ofCell)) {
        expect(env).toContainEqual({ name: 'CELL', value: letter });
        expect(env).toContainEqual({
          name: 'BASE_URL',
          value: `https://${letter.toLowerCase()}.eligibility.example.com`,
        });
      }
      expect(ofCell.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
        manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      );
    }
    for (const env of environment(manifests)) expect(env.map(({ name }) => name)).not.toContain('CELL');
  });

  it.each([
    ['a name is misspelt', /"readinessProbe"/, '"readynessProbe"', /readynessProbe/],
    ['a value has the wrong type', /"containerPort":9464/, '"containerPort":"9464"', /'string' is not assignable/],
    ['a member is missing', /"selector":\{"matchLabels":\{[^}]*\}\},"strategy"/, '"strategy"', /selector/],
  ])('the check of Kubernetes manifests reports the manifests as invalid if %s', (_what, member, planted, fault) => {
    const deployment = JSON.stringify(named('Deployment')[0]);
    const broken = JSON.parse(deployment.replace(member, planted)) as Manifest;
    expect(JSON.stringify(broken)).not.toBe(deployment);
    expect(faultsOf([broken]).join()).toMatch(fault);
  });

  it('the manifests run nothing as root, and let no container write to its image', () => {
    expect(pods.length).toBe(3);
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
      expect(pod.automountServiceAccountToken).toBe(false);
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('the manifests have the standard labels, and their selectors use only labels that no release changes', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    for (const { kind, metadata, spec } of everything) {
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/name': 'eligibility',
        'app.kubernetes.io/instance': 'eligibility',
        'app.kubernetes.io/component': expect.any(String),
        'app.kubernetes.io/version': version,
        'app.kubernetes.io/part-of': 'eligibility',
        'app.kubernetes.io/managed-by': 'Helm',
        'helm.sh/chart': `eligibility-${version}`,
      });
      const selected = kind === 'Service' ? spec['selector'] : (spec['selector'] ?? spec['podSelector'])?.matchLabels;
      for (const name of Object.keys((selected ?? {}) as object))
        expect(name).toMatch(/^app\.kubernetes\.io\/(name|instance|component)$/);
    }
  });

  it("the manifests give the table owner's credentials only to the migration, which gets no other secret", () => {
    const secretsOf = (kind: string) =>
      named(kind).map(({ spec }) =>
        (spec['template'].spec.containers[0].env as Record<string, any>[]).flatMap(({ name, valueFrom }) =>
          valueFrom ? [`${name} ${valueFrom.secretKeyRef.name}`] : [],
        ),
      );
    expect(secretsOf('Job')).toEqual([['DATABASE_URL eligibility-database-app']]);
    const ofProcess = ['DATABASE_URL eligibility-database', 'SECRETS_KEY eligibility'];
    expect(secretsOf('Deployment')).toEqual([ofProcess, ofProcess]);
    const [job] = named('Job');
    const { command } = job.spec['template'].spec.containers[0] as { command: string[] };
    expect(command).toEqual(['node', 'dist/src/migrate-database.js', '--grant-to', 'eligibility_service']);
    const [cluster] = manifestsIn(`${folder}/database.yaml`);
    expect(cluster.spec['managed'].roles).toEqual([
      expect.objectContaining({ name: 'eligibility_service', login: true }),
    ]);
  });

  it('the manifests contain a checksum of the secrets, so that Kubernetes replaces the pods when a secret changes', () => {
    for (const { spec } of named('Deployment'))
      expect(spec['template'].metadata.annotations['checksum/secrets']).toMatch(/^[0-9a-f]{64}$/);
  });

  it('the manifests have an Ingress at BASE_URL, a ServiceMonitor and an image digest only if these are configured', () => {
    const kinds = ['Ingress', 'ServiceMonitor'];
    expect(manifests.filter(({ kind }) => kinds.includes(kind))).toEqual([]);
    const [ingress, monitor] = kinds.map((kind) => everything.find((one) => one.kind === kind)!.spec);
    expect(ingress['rules']).toEqual([
      {
        host: 'exams.example.com',
        http: {
          paths: [
            {
              path: '/v1',
              pathType: 'Prefix',
              backend: { service: { name: 'eligibility-api', port: { name: 'http' } } },
            },
          ],
        },
      },
    ]);
    expect(ingress['tls']).toEqual([{ hosts: ['exams.example.com'], secretName: 'eligibility-tls' }]);
    expect(monitor['endpoints']).toEqual([{ port: 'metrics', path: '/metrics', interval: '30s' }]);
    const watched = everything.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(monitor['selector'].matchLabels as object).every(
          ([name, value]) => metadata.labels[name] === value,
        ),
    );
    expect(watched.map(({ spec }) => spec['ports'])).toEqual([
      [{ name: 'metrics', port: 9464, targetPort: 'metrics' }],
    ]);
    const deployments = everything.filter(({ kind }) => kind === 'Deployment');
    for (const { spec } of deployments) {
      expect(spec['template'].metadata.annotations).not.toHaveProperty(['prometheus.io/scrape']);
      expect(spec['template'].metadata.labels).toMatchObject(watched[0].spec['selector'] as object);
      expect(spec['template'].spec.containers[0].image).toMatch(/@sha256:[0-9a-f]{64}$/);
    }
  });

  it('the manifests set only existing settings, and take secrets only from Kubernetes Secrets', () => {
    const documented = new Set(
      [...read('docs/configuration.md').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name),
    );
    for (const { containers } of pods)
      for (const { name, value, valueFrom } of containers[0].env as Record<string, any>[]) {
        expect(documented).toContain(name);
        if (['DATABASE_URL', 'SECRETS_KEY'].includes(name)) expect(valueFrom.secretKeyRef).toBeDefined();
        else expect(typeof value).toBe('string');
      }
  });

  it('the manifests give each deployment probes, a disruption budget, scaling and matching labels', () => {
    for (const { metadata, spec } of named('Deployment')) {
      const { labels } = spec['template'].metadata;
      const [container] = spec['template'].spec.containers;
      const { matchLabels } = spec['selector'];
      expect(labels).toMatchObject(matchLabels);
      const role = labels['app.kubernetes.io/component'] as string;
      expect(metadata.name).toBe(`eligibility-${role}`);
      expect(container.env).toContainEqual({ name: 'ROLES', value: role });
      expect(container.readinessProbe.httpGet.path).toBe('/health/ready');
      expect(container.livenessProbe.httpGet.path).toBe('/health/live');
      const budgets = named('PodDisruptionBudget').map(({ spec: { selector } }) => selector.matchLabels as unknown);
      expect(budgets).toContainEqual(matchLabels);
      const scaled = named('HorizontalPodAutoscaler').map(
        ({ spec: { scaleTargetRef } }) => scaleTargetRef.name as unknown,
      );
      expect(scaled).toContain(metadata.name);
      const grace = Number(/`SHUTDOWN_GRACE_MS` *\| `(\d+)`/.exec(read('docs/configuration.md'))?.[1]);
      expect(spec['template'].spec.terminationGracePeriodSeconds).toBeGreaterThan(60 + (2 * grace) / 1000 + 5);
    }
    expect(named('Deployment').map(({ metadata }) => metadata.name)).toEqual([
      'eligibility-api',
      'eligibility-delivery',
    ]);
  });

  it('the manifests scale deployments by exactly the metrics that the Prometheus adapter serves', () => {
    const { rules } = parse(read(`${folder}/prometheus-adapter.yaml`)) as {
      rules: { custom: { name: { as: string } }[]; external: { name: { as: string } }[] };
    };
    const served = [...rules.custom, ...rules.external].map(({ name }) => name.as);
    const asked = named('HorizontalPodAutoscaler').flatMap(({ spec }) =>
      (spec['metrics'] as Record<string, any>[]).map(
        ({ pods: byPod, external }) => (byPod ?? external).metric.name as string,
      ),
    );
    expect(asked.sort()).toEqual(served.sort());
  });
});

describe('the compose files', () => {
  // The `$schema` member is removed, because Ajv does not recognise this spelling of the URI of draft-07.
  const { $schema, ...schema } = JSON.parse(read('test/fixtures/compose/compose-spec.json')) as Record<string, object>;
  const isCompose = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
  const faultsIn = (file: string, from = '', to = '') => {
    isCompose(parse(read(file).replace(from, to), { merge: true }));
    return (isCompose.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, ...Object.values(params as object)].join(' '),
    );
  };
  const files = ['docker-compose.yml', 'docker-compose.scale.yml'];

  it.each(files)('the compose file %s is valid according to the Compose Specification', (file) => {
    expect($schema).toBe('https://json-schema.org/draft-07/schema');
    expect(faultsIn(file)).toEqual([]);
  });

  it.each([
    ['a name is misspelt', 'read_only: true', 'readonly: true', 'readonly'],
    ['a condition does not exist', 'service_healthy', 'healthy', 'depends_on'],
    ['a value has the wrong type', 'cap_drop: [ALL]', 'cap_drop: ALL', 'cap_drop'],
  ])('the check of compose files reports a file as invalid if %s', (_what, right, wrong, fault) => {
    for (const file of files) {
      expect(read(file)).toContain(right);
      expect(faultsIn(file, right, wrong).join()).toContain(fault);
    }
  });

  it.each(files)(
    'the compose file %s depends on existing services, mounts existing volumes, and requires the variables that .env.example names',
    (file) => {
      const { services, volumes } = parse(read(file), { merge: true }) as {
        services: Record<string, { depends_on?: string[] | object; volumes?: string[] }>;
        volumes: object;
      };
      for (const { depends_on: before = [], volumes: mounts = [] } of Object.values(services)) {
        for (const name of Array.isArray(before) ? before : Object.keys(before))
          expect(Object.keys(services)).toContain(name);
        for (const mount of mounts.filter((one) => !one.startsWith('./')))
          expect(Object.keys(volumes)).toContain(mount.split(':')[0]);
      }
      const named = [...read('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
      const asked = [...read(file).matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(([, name]) => name);
      expect(asked.filter((name) => !named.includes(name))).toEqual([]);
    },
  );
});

describe.each(['docker-compose.yml', 'docker-compose.scale.yml'])('%s', (file) => {
  interface Service {
    image?: string;
    environment?: Record<string, string>;
    depends_on?: Record<string, { condition: string }>;
    command?: string[];
    logging?: { options: object };
    healthcheck?: { test: string[] };
    volumes?: string[];
  }
  const { services } = parse(read(file), { merge: true }) as { services: Record<string, Service> };
  const own = Object.entries(services).filter(([, { image }]) => image === 'candidate-eligibility-service');

  it("the compose file gives the table owner's password only to the migration, which runs before the other processes", () => {
    expect(own.map(([name]) => name)).toContain('migration');
    for (const [name, { environment = {}, command, depends_on: before }] of own) {
      const url = environment['DATABASE_URL'];
      if (name === 'migration') {
        expect(url).toContain('//eligibility:${POSTGRES_PASSWORD');
        expect(Object.keys(environment)).toEqual(['DATABASE_URL']);
        expect(command).toEqual(['node', 'dist/src/migrate-database.js', '--grant-to', 'eligibility_service']);
        continue;
      }
      expect(url).toContain('//eligibility_service:${SERVICE_PASSWORD');
      expect(JSON.stringify(environment)).not.toContain('POSTGRES_PASSWORD');
      expect(before).toMatchObject({ migration: { condition: 'service_completed_successfully' } });
    }
    const makers = Object.values(services).filter(({ volumes = [] }) => volumes.join().includes('role.sh'));
    expect(makers.map(({ environment }) => Object.keys(environment ?? {}))).toEqual([
      expect.arrayContaining(['POSTGRES_PASSWORD', 'SERVICE_PASSWORD']),
    ]);
  });

  it('the compose file limits the logs of every container, and checks PostgreSQL over TCP', () => {
    for (const { logging } of Object.values(services))
      expect(logging?.options).toEqual({ 'max-size': expect.any(String), 'max-file': expect.any(String) });
    const asked = Object.values(services).flatMap(({ healthcheck }) => healthcheck?.test ?? []);
    const ready = asked.filter((line) => line.includes('pg_isready'));
    expect(ready.length).toBeGreaterThan(0);
    // The health check of PostgreSQL must use TCP. Over its Unix socket, PostgreSQL would seem ready while the image is
    // still initialising it.
    for (const line of ready) expect(line).toContain('-h 127.0.0.1');
  });

  it(".env.example lists a variable for every image in the compose file except the service's own image", () => {
    const images = [...read(file).matchAll(/^ +(?:image|NODE|DEBIAN): (?!candidate)(\S+)$/gm)].map(
      ([, image]) => image,
    );
    expect(images.length).toBeGreaterThan(1);
    for (const image of images) {
      const [, variable, fallback] = /^\$\{([A-Z_]+):-(\S+:\S+)\}$/.exec(image) ?? [];
      expect(read('.env.example')).toContain(`#${variable}=${fallback}`);
    }
  });
});

describe('docker-compose.scale.yml', () => {
  const { services } = parse(read('docker-compose.scale.yml'), { merge: true }) as {
    services: Record<string, { image?: string; environment?: Record<string, string>; volumes?: string[] }>;
  };
  const processes = Object.entries(services).filter(([, { image }]) => image === 'candidate-eligibility-service');
  const withRole = (role: string) =>
    processes.filter(([, { environment }]) => environment?.['ROLES'] === role).map(([name]) => name);

  it('docker-compose.scale.yml has two processes for each role, and its proxy forwards to the processes with the api role', () => {
    expect(withRole('delivery')).toEqual(['delivery-1', 'delivery-2']);
    const servers = [...read('deploy/haproxy/haproxy.cfg').matchAll(/^ *server \S+ (\S+):3000$/gm)].map(
      ([, host]) => host,
    );
    expect(servers).toEqual(withRole('api'));
    expect(servers.length).toBe(2);
  });

  it('docker-compose.scale.yml sets only existing settings, and mounts only existing files', () => {
    const documented = read('docs/configuration.md');
    for (const [, { environment }] of processes)
      for (const name of Object.keys(environment ?? {})) expect(documented).toContain(`\`${name}\``);
    const files = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('./'));
    expect(files.length).toBe(5);
    for (const file of files) expect(read(file.split(':')[0])).not.toBe('');
  });
});
