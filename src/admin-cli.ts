import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { AuditSeals } from './platform/audit/audit-seals.js';
import { verifyAudit } from './platform/audit/audit-verification.js';
import { Database } from './platform/database/database.js';
import { EncryptedColumns } from './platform/database/encrypted-columns.js';
import { grantsAt } from './platform/database/grants.js';
import { RotateLaunchKey } from './launch/launch.commands.js';
import { DomainError } from './platform/errors.js';
import { Secrets } from './platform/secrets.js';
import { SCOPES } from './platform/context/caller.js';
import { readBody } from './platform/validation/members.js';
import {
  CreateApplication,
  CreateUser,
  RotateApplicationSecret,
  UnlockUser,
  UpdateUser,
} from './auth/auth.commands.js';
import { CreateUserBody } from './auth/administration/user.dto.js';

const USAGE = `usage:
  npm run admin -- create-operator --username NAME      creates a user with every scope, and an application
  npm run admin -- rotate-secret --consumer-key KEY     gives an application a new consumer secret
  npm run admin -- unlock-user --username NAME          unlocks a user in every application
  npm run admin -- disable-user --username NAME         disables a user and revokes all access immediately
  npm run admin -- verify-audit [--from SEAL]           compares the audit log with its seals, and with SEAL
  npm run admin -- grants --role NAME                   prints SQL that grants a database role the least rights
  npm run admin -- rotate-launch-key                    creates a new key for launch tokens and client assertions
  npm run admin -- reencrypt                            encrypts all stored secrets with the newest key
create-operator asks for a password, or reads it from standard input.
`;

/** Thrown for wrong command-line arguments, so that wrong usage can be distinguished from errors of the service. */
class UsageError extends Error {}

/**
 * Runs one administrative command in the given application, on its database.
 * @param argv the arguments after the program's name
 * @returns the exit code of the process: 0 done, 1 refused, 2 wrong usage
 */
export async function runAdminCommand(argv: string[], app: INestApplicationContext): Promise<number> {
  try {
    const [name, ...rest] = argv;
    const commands = app.get(CommandBus);
    if (name === 'create-operator') await createOperator(commands, option(rest, 'username'));
    else if (name === 'rotate-secret')
      say(await commands.execute(new RotateApplicationSecret(option(rest, 'consumer-key'))));
    else if (name === 'unlock-user') {
      const username = option(rest, 'username');
      await commands.execute(new UnlockUser(username));
      process.stdout.write(`unlocked: ${username}\n`);
    } else if (name === 'disable-user') {
      const { username } = await commands.execute(new UpdateUser(option(rest, 'username'), { disabled: true }));
      process.stdout.write(`disabled: ${username}\n`);
    } else if (name === 'grants')
      process.stdout.write(await grantsAt(app.get(Database, { strict: false }).url, option(rest, 'role')));
    else if (name === 'rotate-launch-key' && rest.length === 0)
      process.stdout.write(`kid: ${await commands.execute(new RotateLaunchKey())}\n`);
    else if (name === 'reencrypt' && rest.length === 0) return await reencrypt(app);
    else if (name === 'verify-audit') return await verifySeals(app, rest.length === 0 ? null : sealOption(rest));
    else throw new UsageError('There is no such command.');
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n${USAGE}`);
      return 2;
    }
    if (!(error instanceof DomainError)) throw error;
    if (error.errors.length === 0) process.stderr.write(`${error.problem.title}. ${error.detail}\n`);
    for (const { pointer, detail } of error.errors) process.stderr.write(`${pointer?.slice(1)}: ${detail}\n`);
    return 1;
  }
}

async function reencrypt(app: INestApplicationContext): Promise<number> {
  const left = await app
    .get(EncryptedColumns, { strict: false })
    .reencrypt((table, values) => process.stdout.write(`${table}: ${values} encrypted again\n`));
  if (!(await countersign(app))) return 1;
  process.stdout.write(
    left === 0 ? 'All secrets are encrypted with the newest key.\n' : `${left} changed meanwhile: run it again.\n`,
  );
  return left === 0 ? 0 : 1;
}

/** Verifies the audit log with the keys in `SECRETS_KEY`, and then adds a seal (a signed hash) with the newest key. */
async function countersign(app: INestApplicationContext): Promise<boolean> {
  if ((await verifySeals(app, null)) !== 0) return false;
  const { added, done } = await app.get(AuditSeals, { strict: false }).countersign();
  process.stdout.write(`audit_seals: ${added} added under the newest key\n`);
  if (!done)
    process.stdout.write(
      'Another process still signs seals with an older key. Restart that process, and run this command again.\n',
    );
  return done;
}

async function verifySeals(app: INestApplicationContext, anchor: string | null): Promise<number> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const [{ url }, secrets] = [app.get(Database, { strict: false }), app.get(Secrets, { strict: false })];
  const verdict = await verifyAudit(url, secrets, anchor);
  const { upToAnchor } = verdict;
  if (upToAnchor) say(`Up to the seal of --from the audit agrees: rows ${upToAnchor.rows}, seals ${upToAnchor.seals}.`);
  if (verdict.agrees) {
    const { rows, seals, last, underNewestKey } = verdict;
    say(`The audit agrees with its seals: rows ${rows}, seals ${seals}, last seal ${last ?? 'none'}.`);
    if (!underNewestKey) say('An older key of SECRETS_KEY signed the last seal: run reencrypt before that key goes.');
    return 0;
  }
  if (verdict.fromRow === null) say(`The audit agrees with its seals, but not with --from: ${verdict.because}.`);
  else say(`The audit does not agree with its seals from row ${verdict.fromRow} on: ${verdict.because}.`);
  return 1;
}

/**
 * Reads the `--from` option of verify-audit. Its value is a seal (a signed hash) of the audit log, in the hexadecimal
 * form that verify-audit prints.
 */
function sealOption(argv: string[]): string {
  const seal = option(argv, 'from').toLowerCase();
  if (/^[0-9a-f]{64}$/.test(seal)) return seal;
  throw new UsageError('--from takes a seal: 64 hexadecimal digits, as verify-audit prints them.');
}

async function createOperator(commands: CommandBus, username: string): Promise<void> {
  const password = await readPassword();
  const body = readBody(CreateUserBody, { username, password, account_codes: [], scopes: [...SCOPES] });
  await commands.execute(new CreateUser(body.username, body.password, [], body.scopes));
  say(await commands.execute(new CreateApplication(body.username, SCOPES)));
}

function option(argv: string[], name: string): string {
  try {
    const { values } = parseArgs({ args: argv, options: { [name]: { type: 'string' } }, allowPositionals: false });
    const value = values[name];
    if (typeof value === 'string' && value !== '') return value;
  } catch {
    // The error message of parseArgs is written for programmers, so a message for operators is shown instead.
  }
  throw new UsageError(`--${name} is needed, and nothing else.`);
}

/** Prints the new credentials of an application. The secret appears nowhere else: it is in no table and in no log. */
function say({ consumer_key, consumer_secret }: { consumer_key: string; consumer_secret: string }): void {
  process.stdout.write(`consumer_key: ${consumer_key}\nconsumer_secret: ${consumer_secret}\n`);
}

/**
 * Reads a password from standard input. A terminal does not show the typed characters. A final line break is removed.
 */
async function readPassword(): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks)
      .toString('utf8')
      .replace(/\r?\n$/, '');
  }
  process.stderr.write('Password: ');
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let password = '';
  try {
    for await (const typed of stdin as AsyncIterable<string>)
      for (const character of typed) {
        if (character === '\r' || character === '\n') return password;
        if (character === '\u0003') throw new UsageError('Given up.');
        if (character === '\u007f' || character === '\b') password = password.slice(0, -1);
        else password += character;
      }
    return password;
  } finally {
    stdin.setRawMode(false);
    process.stderr.write('\n');
  }
}
