import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';

/** A result that a caller is about to read, and the parts of the result that the response will show. */
export interface ResultRead {
  readonly subject: string;
  readonly accountCode: string | null;
  readonly photo: boolean;
  readonly videoLink: boolean;
}

/**
 * Writes audit entries for reads of photos and video links, because both show people. Each entry is written before the
 * response is sent.
 */
@Injectable()
export class ResultReads {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async record(kind: 'result' | 'unmatched-result', reads: readonly ResultRead[]): Promise<void> {
    const entries = new Map<string, { action: string; subject: string; accountCode: string | null }>();
    for (const { subject, accountCode, photo, videoLink } of reads) {
      const add = (action: string) => entries.set(`${action} ${subject}`, { action, subject, accountCode });
      if (photo) add(`${kind}.read-photo`);
      if (videoLink) add(`${kind}.read-video-link`);
    }
    if (entries.size === 0) return;
    await this.unitOfWork.run(() => {
      for (const { action, subject, accountCode } of entries.values())
        this.unitOfWork.audit(action, subject, { accountCode });
      return Promise.resolve();
    });
  }

  /** Writes an audit entry for a read of the raw bytes of an unmatched result, whose content is unknown. */
  recordRaw(subject: string, accountCode: string | null): Promise<void> {
    return this.unitOfWork.run(() => {
      this.unitOfWork.audit('unmatched-result.read-raw', subject, { accountCode });
      return Promise.resolve();
    });
  }
}
