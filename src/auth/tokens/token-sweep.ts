import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AuthConfig } from '../auth.config.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { sweep } from '../../platform/sweep.js';
import { isRefusedPassword } from './operator-rights.js';

const BATCH = 500;

/**
 * The statements of the sweep. Their order matters: expired access tokens are deleted first, because a family is
 * deleted, with its refresh tokens, only when it has no access tokens left.
 */
const CHORES = [
  `DELETE FROM access_tokens WHERE token_hash IN (
     SELECT token_hash FROM access_tokens WHERE expires_at < now() LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM token_families WHERE family_id IN (
     SELECT family_id FROM token_families family
     WHERE expires_at < now() AND NOT EXISTS (SELECT 1 FROM access_tokens WHERE family_id = family.family_id)
     LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM login_attempts WHERE (username_mac, consumer_key) IN (
     SELECT username_mac, consumer_key FROM login_attempts
     WHERE forget_at < now() LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM token_request_counts WHERE (address_mac, minute) IN (
     SELECT address_mac, minute FROM token_request_counts
     WHERE minute < now() - interval '2 minutes' LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM finished_sign_ins WHERE state_hash IN (
     SELECT state_hash FROM finished_sign_ins WHERE forget_at < now() LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
];

/**
 * Ends operators' token families that began with a password. Such families exist if another process or an earlier run
 * of the service allowed operators to sign in with a password.
 */
const END_PASSWORD_FAMILIES = `UPDATE token_families SET revoked_at = now() WHERE family_id IN (
  SELECT family_id FROM token_families family JOIN users USING (username)
  WHERE revoked_at IS NULL AND ${isRefusedPassword('by_password', 'true')}
  LIMIT ${BATCH} FOR UPDATE OF family SKIP LOCKED)`;

/**
 * Deletes expired tokens and families. Each batch has its own transaction and skips locked rows, so that no request
 * waits. Several processes may sweep at the same time.
 */
@Injectable()
export class TokenSweep implements OnApplicationBootstrap {
  constructor(
    private readonly config: AuthConfig,
    private readonly database: Database,
    private readonly logger: Logger,
    clock: Clock,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  /**
   * With OPERATOR_PASSWORDS=off, ends operators' token families that began with a password, before the first request is
   * served.
   */
  onApplicationBootstrap(): Promise<void> {
    return this.sweep(this.passwordChores);
  }

  @Interval(60_000)
  run(): Promise<void> {
    return this.sweep([...this.passwordChores, ...CHORES]);
  }

  private get passwordChores(): string[] {
    return this.config.operatorPasswords ? [] : [END_PASSWORD_FAMILIES];
  }

  private async sweep(chores: readonly string[]): Promise<void> {
    const batches = chores.map((text) => () => this.database.execute({ text }));
    await sweep(this.logger, 'expired tokens', BATCH, batches);
  }
}
