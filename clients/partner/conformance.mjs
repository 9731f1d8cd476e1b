#!/usr/bin/env node
// Plays 25 situations against a partner's endpoint and prints what is right and wrong, with the sentence of the document.
// usage: npm run conformance -- --url https://partner.example/hooks [--secret whsec_…] [--ca FILE]
// The secret also comes from WEBHOOK_SECRET. Ends with 0 when all is right, 1 when something is wrong, 2 on wrong usage.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { situations } from './situations.mjs';

const WAIT_MS = 10_000;

/**
 * Sends one PUT. Resolves to its status; to 0 when no answer came within 10 seconds, or none at all.
 * @param how `drip`: the body comes in pieces; `readSlowly`: the answer is taken in pieces
 */
function put(url, ca, agent, { headers, body }, how) {
  const { request } = url.protocol === 'https:' ? https : http;
  const target = new URL(url.href.replace(/\/$/, '') + '/notifications');
  const bytes = Buffer.from(body);
  return new Promise((resolve) => {
    const outgoing = request(target, {
      method: 'PUT',
      headers: { ...headers, 'content-length': bytes.length },
      ca,
      agent,
    });
    const timer = setTimeout(() => outgoing.destroy(new Error('late')), WAIT_MS);
    const end = (status) => {
      clearTimeout(timer);
      resolve(status);
    };
    outgoing.on('error', () => end(0));
    outgoing.on('response', async (response) => {
      try {
        for await (const _ of response) if (how === 'readSlowly') await pause(200);
        end(response.statusCode);
      } catch {
        end(0);
      }
    });
    if (how !== 'drip') outgoing.end(bytes);
    else
      void (async () => {
        const step = Math.ceil(bytes.length / 10);
        for (let at = 0; at < bytes.length; at += step) {
          outgoing.write(bytes.subarray(at, at + step));
          await pause(100);
        }
        outgoing.end();
      })();
  });
}

/** @returns {Promise<{ name: string, says: string, expects: number, came: number[], isRight: boolean }[]>} */
export async function play({ url, secret, ca }) {
  const address = new URL(url);
  const agent = new (address.protocol === 'https:' ? https : http).Agent({ keepAlive: true });
  const send = (request, how) => put(address, ca, agent, request, how);
  const results = [];
  for (const { name, says, expects, play: playOne } of situations(send, secret)) {
    const came = await playOne();
    results.push({ name, says, expects, came, isRight: came.every((status) => status === expects) });
  }
  agent.destroy();
  return results;
}

/** One line for each situation; what is wrong has a second one with the sentence that says so. */
export function report(results) {
  const lines = results.map(({ name, says, expects, came, isRight }, index) => {
    const shown = [...new Set(came)].map((status) => (status === 0 ? 'no answer' : status)).join(' and ');
    const line = `${isRight ? 'right' : 'WRONG'} ${String(index + 1).padStart(2)}  ${name}: ${shown}`;
    return isRight ? line : `${line}, not ${expects}\n          ${says}`;
  });
  const wrong = results.filter(({ isRight }) => !isRight).length;
  return `${lines.join('\n')}\n\n${results.length - wrong} right, ${wrong} wrong\n`;
}

async function main() {
  const usage = 'usage: npm run conformance -- --url https://… [--secret whsec_…] [--ca FILE]\n';
  let values;
  try {
    const options = { url: { type: 'string' }, secret: { type: 'string' }, ca: { type: 'string' } };
    ({ values } = parseArgs({ options }));
  } catch {
    values = {};
  }
  const secret = values.secret ?? process.env['WEBHOOK_SECRET'] ?? '';
  if (!URL.canParse(values.url ?? '') || !/^whsec_./.test(secret)) {
    process.stderr.write(usage);
    return 2;
  }
  const ca = values.ca === undefined ? undefined : readFileSync(values.ca);
  const results = await play({ url: values.url, secret, ca });
  process.stdout.write(report(results));
  return results.every(({ isRight }) => isRight) ? 0 : 1;
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) process.exitCode = await main();
