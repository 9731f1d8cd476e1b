import type { Command } from '@nestjs/cqrs';
import {
  CreateEligibility,
  HoldEligibility,
  ReleaseHold,
  UpdateEligibility,
} from '../../../src/eligibility/eligibility.commands.js';
import type { EligibilityModel } from '../../../src/eligibility/eligibility-model.fields.js';
import { Faults } from '../../../src/platform/validation/faults.js';
import { DecideOnResult } from '../../../src/results/results.commands.js';
import type { Story } from './story.js';

const TEST = 'SIMULATED';
const RECORDS = 3;
const CHANGES = 8;

interface Record_ {
  readonly id: string;
  readonly candidate: string;
  asked: number;
}

/**
 * Simulates a few eligibility records. Clients create and rename the records, and operators make decisions about them.
 */
export class SimulatedRecords {
  private readonly records: Record_[] = [];
  private created = 0;
  private unanswered = 0;

  constructor(private readonly story: Story) {}

  get isBusy(): boolean {
    return this.unanswered > 0;
  }

  async prepare(): Promise<void> {
    const { account, service } = this.story;
    await service.rows('INSERT INTO tests (account_code, test_code, name) VALUES ($1, $2, $2)', [account, TEST]);
    await service.rows('INSERT INTO test_portions VALUES ($1, $2, $3, $3, 0)', [account, TEST, 'MAIN']);
  }

  /** Creates a record, or changes a randomly chosen one. */
  async act(): Promise<void> {
    const { chance, turns } = this.story;
    const open = this.records.filter(({ asked }) => asked < CHANGES);
    if (this.created < RECORDS && (open.length === 0 || chance.hits(0.3))) this.create();
    else if (open.length > 0) this.change(chance.pick(open));
    await turns.quiet();
  }

  private create(): void {
    const { account, service } = this.story;
    const candidate = `C${++this.created}`;
    this.story.tell(`create the record of ${candidate}`);
    this.execute(new CreateEligibility(account, modelOf(candidate, 'Lovelace'), new Faults()), async (record) => {
      const { svc_eligiblity_id: id } = record;
      // The row of the record need not be locked here, because no other transaction can see the record yet.
      await service.rows(
        `INSERT INTO result_revisions (svc_eligiblity_id, revision, account_code, source, body, body_hash, simulated,
           username, received_datetime)
         VALUES ($1, 1, $2, 'REGISTRATION', '{}', '', false, 'simulated', now())`,
        [id, account],
      );
      this.records.push({ id, candidate, asked: 0 });
    });
  }

  private change(record: Record_): void {
    const { account, chance } = this.story;
    const { id, candidate } = record;
    const name = `Lovelace ${++record.asked}`;
    const changes = {
      hold: new HoldEligibility(id, 'simulated'),
      release: new ReleaseHold(id),
      rename: new UpdateEligibility(account, candidate, TEST, modelOf(candidate, name), new Faults()),
      'hold the result of': new DecideOnResult(id, 'HELD', 'simulated'),
      'release the result of': new DecideOnResult(id, 'RELEASED', 'simulated'),
    };
    const change = chance.pick(Object.keys(changes) as (keyof typeof changes)[]);
    this.story.tell(`${change} ${id}`);
    this.execute<unknown>(changes[change]);
  }

  private execute<Result>(
    command: Command<Result>,
    then: (result: Result) => Promise<void> | void = () => undefined,
  ): void {
    const { chance, service } = this.story;
    this.unanswered += 1;
    void service
      .execute(command, chance.below(2))
      .then(then)
      .catch((error: unknown) => this.story.tell(`a change of a record fails: ${(error as Error).message}`))
      .finally(() => (this.unanswered -= 1));
  }
}

function modelOf(candidate_id: string, last_name: string): EligibilityModel {
  return { test_code: TEST, candidate: { candidate_id, first_name: 'Ada', last_name } };
}
