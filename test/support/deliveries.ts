import type { Answer, TestApp } from './app';

export type Scene = { account: string; testCode: string; token: string };

/** Returns the body of a registration result as test drivers send it. */
export function registrationBody(changes: Record<string, unknown> = {}): Record<string, any> {
  return {
    examDate: 'Jul 15 2015  1:13AM',
    examTakerFirstName: 'Ada',
    examTakerLastName: 'Lovelace',
    examProcessingStatus: 'Complete',
    overAllComments: 'Looked away twice.\nNothing else.',
    reviewStatus: 'Clean',
    desktopComments: [
      { comments: 'opened\tmail', duration: 12, eventStart: 100, eventFinish: 112, eventStatus: 'Rule' },
    ],
    webCamComments: [],
    ...changes,
  };
}

/** Returns the body of an account result as cloud test drivers send it. */
export function accountBody(candidateId: string | null, changes: Record<string, unknown> = {}): Record<string, any> {
  return {
    ...(candidateId === null ? {} : { candidate_id: candidateId }),
    category_scores: [{ category_name: 'Pharmacology', category_order: '1', category_score_pct: '81.5' }],
    category_total_count: 1,
    overall_score_label: 'Pass',
    overall_score_pct: '81.5',
    overall_score_scaled: 640,
    result: 'P',
    ...changes,
  };
}

/** Delivers results to an application, and reads the stored data. */
export class Deliveries {
  constructor(private readonly app: TestApp) {}

  register(token: string, body: unknown): Promise<Answer> {
    return this.app.call('POST', '/registrations/registration/results', { token, body });
  }

  put(scene: Pick<Scene, 'account' | 'token'>, body: unknown): Promise<Answer> {
    return this.app.call('PUT', `/accounts/${scene.account}`, { token: scene.token, body });
  }

  read(scene: Scene, candidateId: string, token = scene.token): Promise<Answer> {
    return this.app.call(
      'GET',
      `/accounts/${scene.account}/candidates/${candidateId}/tests/${scene.testCode}/results`,
      { token },
    );
  }

  /** Returns the stored revisions of an exam, sorted by number. */
  revisions(svcEligibilityId: string): Promise<Record<string, any>[]> {
    return this.app.given.sql('SELECT * FROM result_revisions WHERE svc_eligiblity_id = $1 ORDER BY revision', [
      svcEligibilityId,
    ]);
  }

  async status(svcEligibilityId: string): Promise<string> {
    const [row] = await this.app.given.sql('SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1', [
      svcEligibilityId,
    ]);
    return row['status'] as string;
  }

  /** Returns the bookings of an exam with the change reasons of their events, oldest first. */
  async bookings(svcEligibilityId: string): Promise<Record<string, any>[]> {
    return this.app.given.sql(
      `SELECT booking.*, ARRAY(SELECT name FROM domain_events WHERE stream = booking_code ORDER BY sequence) AS events
       FROM bookings booking WHERE svc_eligiblity_id = $1 ORDER BY created_datetime`,
      [svcEligibilityId],
    );
  }

  /** Counts the EXAM_COMPLETED events of an exam. */
  async completions(svcEligibilityId: string): Promise<number> {
    const bookings = await this.bookings(svcEligibilityId);
    return bookings
      .flatMap((booking) => booking['events'] as string[])
      .filter((name) => name === 'booking.exam-completed').length;
  }

  unmatched(operator: string): Promise<Answer> {
    return this.app.call('GET', '/admin/unmatched-results?limit=200', { token: operator });
  }
}
