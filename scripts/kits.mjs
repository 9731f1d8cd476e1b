// Checks the kits for partners (clients/) in every language that is installed here. All kits are checked with the same
// vectors, the same conformance run and the same service.
//
// usage: node scripts/kits.mjs [--install] [typescript|python|php|go|java …: all of them by default]
//
// 1. Each kit must get the results that vectors.json states. Copies of the file in which one byte is wrong must fail.
// 2. The sample receiver of each kit passes the conformance program over HTTPS, and still has its notifications after
//    kill -9.
// 3. Each kit polls notifications of a real service, and finds ten notifications that it never received
//    (kits-service.mjs).
//
// The script reports each language that is not installed. If TypeScript, Python or PHP is missing, the script fails,
// because CI must check these languages. `--install` first installs them from Debian's packages.
import './installed.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkHealing } from './kits-service.mjs';
import { freePort } from './own-service.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const VECTORS = join(root, 'clients/partner/vectors.json');
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const PATIENCE_MS = 60_000;
// Without this variable, Python writes compiled files into clients/. The service's build would then seem outdated.
process.env.PYTHONDONTWRITEBYTECODE = '1';
const folder = mkdtempSync(join(tmpdir(), 'eligibility-kits-'));

/**
 * The kits. Each entry has the required programs, their Debian packages, and the commands that build and run the sample
 * partner in the folder of the kit.
 */
const KITS = [
  {
    name: 'typescript',
    folder: 'partner',
    programs: ['node'],
    packages: ['nodejs'],
    isRequired: true,
    build: ['node', join(root, 'scripts/build-clients.mjs'), join(folder, 'packages')],
    run: ['node', join(folder, 'packages/partner/dist/cjs/program.js')],
  },
  { name: 'python', programs: ['python3'], packages: ['python3'], isRequired: true, run: ['python3', 'sample.py'] },
  { name: 'php', programs: ['php'], packages: ['php-cli'], isRequired: true, run: ['php', 'sample.php'] },
  {
    name: 'go',
    programs: ['go'],
    packages: ['golang-go'],
    build: ['go', 'build', '-o', join(folder, 'go'), './sample'],
    run: [join(folder, 'go')],
  },
  {
    name: 'java',
    programs: ['javac', 'java'],
    packages: ['default-jdk-headless'],
    build: ['javac', '-d', join(folder, 'java'), ...javaSources()],
    run: ['java', '-cp', join(folder, 'java'), 'partner.Sample'],
  },
];

/**
 * Places in vectors.json, each given by the text before it. The places are in a genuine signature, in the body that it
 * signs, in an outcome, in a digest and in the id of a kept notification. At each place, every kit must detect a wrong
 * byte.
 */
const PLANTS = [
  '"webhook-signature": "v1,7',
  '"body": "{\\"booking_code\\":\\"SAMPLE000',
  '"outcomes": [\n        "appl',
  '"count": 1,\n          "digest": "',
  '"kept": [\n        {\n          "id": "0198f2c',
];

/** The number of further wrong bytes, spread over the whole file. */
const SPREAD = 20;

function javaSources() {
  return readdirSync(join(root, 'clients/java/partner')).map((name) => `partner/${name}`);
}

const isInstalled = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const isPresent = ({ programs }) => programs.every(isInstalled);

/** Installs the languages that CI must check. */
function install(kits) {
  const packages = kits.filter((kit) => kit.isRequired && !isPresent(kit)).flatMap((kit) => kit.packages);
  if (packages.length === 0) return;
  console.log(`Installing ${packages.join(', ')} …`);
  for (const words of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]])
    spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...words], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
}

/**
 * Runs a program to its end, and returns its output.
 *
 * @throws Error if the exit code is not one of `codes`
 */
function run([program, ...words], { env = {}, cwd = root, codes = [0] } = {}) {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!codes.includes(status))
    throw new Error(`${program} ${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

function checkVectors(kit) {
  run([...kit.run, 'vectors', VECTORS], { cwd: kit.cwd });
  const text = readFileSync(VECTORS, 'latin1');
  for (const before of PLANTS) {
    const at = text.indexOf(before) + before.length;
    if (at < before.length) throw new Error(`vectors.json does not contain ${before}.`);
    // The byte is replaced with another digit or letter, so that the file remains valid JSON.
    const wrong =
      text[at] === 'a' || text[at] === '1'
        ? String.fromCharCode(text.charCodeAt(at) + 1)
        : /\d/.test(text[at])
          ? '1'
          : 'a';
    const planted = join(folder, 'planted.json');
    writeFileSync(planted, text.slice(0, at) + wrong + text.slice(at + 1), 'latin1');
    const said = run([...kit.run, 'vectors', planted], { cwd: kit.cwd, codes: [1] });
    if (!/^WRONG (?!vectors\.json)/m.test(said))
      throw new Error(`The wrong byte after ${before} is not reported:\n${said}`);
  }
  // Further bytes are changed, also in texts that no case checks. Only the lowest bit is changed, so that the byte is
  // still ASCII.
  for (let n = 0; n < SPREAD; n += 1) {
    const at = Math.floor(((n + 0.5) * text.length) / SPREAD);
    const planted = join(folder, 'planted.json');
    writeFileSync(
      planted,
      text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1),
      'latin1',
    );
    run([...kit.run, 'vectors', planted], { cwd: kit.cwd, codes: [1] });
  }
  return `vectors.json is right, and each of ${PLANTS.length + SPREAD} wrong bytes is found`;
}

function makeCertificate() {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  run(['openssl', ...words, ...names, '-keyout', key, '-out', certificate]);
  return { TLS_CERT: certificate, TLS_KEY: key };
}

/** Starts the sample receiver of a kit, and kills it when `use` has ended. */
async function withReceiver(kit, tls, use) {
  const [PORT, STORE] = [await freePort(), join(folder, `received-${kit.name}`)];
  const [program, ...words] = [...kit.run, 'serve'];
  const env = { ...process.env, ...tls, PORT, STORE, WEBHOOK_SECRET: SECRET };
  const child = spawn(program, words, { cwd: kit.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise((done) => child.once('exit', done));
  try {
    for (let waited = 0; !output.includes('ready\n'); waited += 50) {
      if (child.exitCode !== null || waited > PATIENCE_MS) throw new Error(`The receiver did not start:\n${output}`);
      await pause(50);
    }
    return await use(PORT, STORE);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function checkConformance(kit) {
  const tls = makeCertificate();
  return withReceiver(kit, tls, (port) => {
    const conformance = join(folder, 'packages/partner/dist/cjs/conformance.js');
    const options = ['--url', `https://localhost:${port}`, '--secret', SECRET, '--ca', tls.TLS_CERT];
    return run(['node', conformance, ...options])
      .trim()
      .split('\n')
      .at(-1);
  });
}

/** Checks that a killed receiver still has the notifications that it had answered with 200. */
async function checkRestart(kit) {
  await withReceiver(kit, {}, async (port, store) => {
    await expectOutcome(kit, port, 'first', 1, 'applied');
    // An incomplete line is appended, because a crash may leave such a line.
    if (statSync(store).isFile() && kit.name !== 'python') appendFileSync(store, '{"id":"torn","');
  });
  await withReceiver(kit, {}, async (port) => {
    await expectOutcome(kit, port, 'first', 1, 'repeat');
    await expectOutcome(kit, port, 'second', 2, 'applied');
  });
  await withReceiver(kit, {}, (port) => expectOutcome(kit, port, 'second', 2, 'repeat'));
  return 'knows its notifications after kill -9';
}

async function expectOutcome({ name }, port, id, sequence, outcome) {
  const at = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({
    booking_code: 'RESTART001',
    booking_on: '2027-01-01T10:00:00Z',
    candidate_fname: 'Ada',
    candidate_id: 'ADA-1',
    candidate_lname: 'Lovelace',
    change_reason: 'BOOKING_CREATED',
    effective_date: '2026-12-01T10:00:00Z',
  });
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const response = await fetch(`http://localhost:${port}/notifications`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`,
      'event-sequence': String(sequence),
    },
    body,
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes(outcome))
    throw new Error(`${name}: ${id} was answered ${response.status} ${text}, not ${outcome}.`);
}

async function main() {
  const words = process.argv.slice(2);
  const asked = words.filter((word) => word !== '--install');
  const kits = KITS.filter(({ name }) => asked.length === 0 || asked.includes(name)).map((kit) => ({
    ...kit,
    cwd: join(root, 'clients', kit.folder ?? kit.name),
  }));
  if (words.includes('--install')) install(kits);
  const absent = kits.filter((kit) => !isPresent(kit));
  const present = kits.filter(isPresent);
  for (const { name, programs, packages } of absent)
    console.log(`${name}: NOT CHECKED, ${programs.join(' or ')} is not installed (Debian: ${packages.join(', ')})`);
  // The TypeScript package is always built, because it also contains the conformance program.
  run(KITS[0].build);
  mkdirSync(join(folder, 'java'));
  for (const kit of present) {
    if (kit.build !== undefined && kit.name !== 'typescript') run(kit.build, { cwd: kit.cwd });
    console.log(`${kit.name}: ${checkVectors(kit)}`);
    console.log(`${kit.name}: ${await checkConformance(kit)}`);
    console.log(`${kit.name}: ${await checkRestart(kit)}`);
  }
  await checkHealing(present, { folder, run });
  const missing = absent.filter(({ isRequired }) => isRequired);
  if (missing.length === 0) return;
  console.log(`\nCI must check ${missing.map(({ name }) => name).join(', ')}: npm run kits -- --install`);
  process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
