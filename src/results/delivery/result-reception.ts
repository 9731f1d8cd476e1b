import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { LockEligibility } from '../../eligibility/eligibility.commands.js';
import { Clock } from '../../platform/clock.js';
import { ACROSS_ACCOUNTS } from '../../platform/context/caller.js';
import { requestContext } from '../../platform/context/request-context.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { payloadTooLarge, validationError, type DomainError } from '../../platform/errors.js';
import type { Delivery, KeptBody } from '../body/result-body.js';
import type { FactsOf } from '../body/result-delivered.js';
import { keptOf } from '../body/result-erasure.js';
import { keptFaults } from '../body/result-judgement.js';
import { ResultQuota } from '../records/result-quota.js';
import { ResultReader } from '../body/result-reader.js';
import { ResultStore } from '../records/result-store.js';
import type { DeliveredBody } from '../results.commands.js';
import type { NamedExam, ResultSource } from '../body/results.rules.js';
import { SameBodies } from '../records/same-bodies.js';
import { UnmatchedStore, type NewUnmatched } from '../unmatched/unmatched-store.js';

/** A received result body that is ready to be matched with an exam. */
interface Received<Facts> {
  readonly facts: Facts;
  readonly delivery: Delivery;
}

/**
 * Receives results from test drivers without losing any.
 *
 * 1. A body that is not a JSON object is stored as raw bytes; any other body is stored in parts, like the body of a
 *    revision.
 * 2. A refusal is sent only after the body was committed. When the body cannot be stored, the response is 429 or 500,
 *    and the driver retries.
 * 3. The refusal contains the id under which operators find the body.
 * 4. A body beyond the limits (413) and an empty body are not stored.
 */
@Injectable()
export class ResultReception {
  constructor(
    private readonly reader: ResultReader,
    private readonly store: ResultStore,
    private readonly sameBodies: SameBodies,
    private readonly unmatched: UnmatchedStore,
    private readonly quota: ResultQuota,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads the body of a received result. Returns null if an operator has accepted the same body after it was refused.
   * @throws DomainError the refusal, after the body was stored; payload_too_large, result_quota_exceeded, rate_limited
   */
  async receive<Source extends ResultSource>(
    source: Source,
    accountCode: string | null,
    { bytes, username, refusal, isOpaque }: DeliveredBody,
  ): Promise<Received<FactsOf[Source]> | null> {
    const receivedAt = this.clock.now();
    const sent = { source, accountCode, username, receivedAt };
    if (refusal !== undefined && isOpaque) throw await this.keepRaw(refusal, bytes, sent);
    const read = await this.reader.read(source, bytes);
    if ('refusal' in read) throw await this.keepRaw(refusal ?? read.refusal, read.bytes, sent);
    const { facts, kept, faults, isRefused } = read;
    const delivery: Delivery = { body: kept, faults: keptFaults(faults), username, receivedAt };
    if (refusal === undefined && !isRefused) return { facts, delivery };
    if (refusal === undefined && (await this.sameBodies.isNewestSomewhere(accountCode, delivery))) return null;
    const error = refusal ?? validationError.error({ errors: [...faults] });
    throw await this.keep(error, source, accountCode, delivery, 'examCode' in facts ? facts : null);
  }

  /**
   * Stores a refused body for an operator, in its own transaction. Returns the refusal with the id of the stored body.
   * @throws DomainError result_quota_exceeded when the body cannot be stored
   */
  keep(
    error: DomainError,
    source: ResultSource,
    accountCode: string | null,
    { body, ...delivery }: Delivery,
    exam: NamedExam | null,
  ): Promise<DomainError> {
    return this.add(error, body, async () => {
      const examCode = exam?.examCode ?? null;
      const left = examCode === null ? null : await this.leftOf(examCode, source, body);
      const sent = { source, accountCode, ...delivery, raw: null, hash: body.hash };
      if (left === null) return { ...sent, body, exam };
      // An erasure does not keep the locator, so it must not show the result to another account either.
      return { ...sent, body: left, exam: { examCode, locator: null } };
    });
  }

  private async keepRaw(
    error: DomainError,
    bytes: Buffer | undefined,
    sent: Pick<NewUnmatched, 'source' | 'accountCode' | 'username' | 'receivedAt'>,
  ): Promise<DomainError> {
    if (bytes === undefined || bytes.length === 0 || error.problem === payloadTooLarge) return error;
    const faults = keptFaults(error.errors);
    const hash = this.unmatched.hashOfRaw(bytes);
    return this.add(error, bytes, () => Promise.resolve({ ...sent, faults, body: null, raw: bytes, hash, exam: null }));
  }

  private async add(
    error: DomainError,
    counted: KeptBody | Buffer,
    find: () => Promise<NewUnmatched>,
  ): Promise<DomainError> {
    const id = await this.quota.explaining(() =>
      this.unitOfWork.run(async () => {
        const result = await find();
        const kept = await this.unmatched.keep(error.code, result);
        if (kept.added) this.quota.countUnmatched(result.accountCode ?? requestContext().caller!.consumerKey, counted);
        return kept.id;
      }),
    );
    return error.problem.error({
      detail: `${error.detail} The body was stored. Operators can find it for 30 days by \`unmatched_result_id\`.`,
      errors: error.errors,
      members: { ...error.members, unmatched_result_id: id },
      headers: error.headers,
      cause: error,
    });
  }

  /**
   * Returns the part of a body that may be stored, if the body's exam code names an eligibility whose personal data was
   * erased. Returns null for any other body. The eligibility stays locked until the body is stored.
   */
  private async leftOf(examCode: string, source: ResultSource, body: KeptBody): Promise<KeptBody | null> {
    const booked = await this.store.findExamOfBooking(examCode, ACROSS_ACCOUNTS);
    const exam = await this.commandBus.execute(
      new LockEligibility(booked?.svc_eligiblity_id ?? examCode, ACROSS_ACCOUNTS),
    );
    return exam && keptOf(exam, source, body);
  }
}
