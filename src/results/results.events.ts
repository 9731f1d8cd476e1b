import { RecordEvent } from '../platform/changes/record-event.js';
import { StoredEvent } from '../platform/events/domain-event.js';

@StoredEvent('record.result-revised')
export class ResultRevised extends RecordEvent {
  static readonly change = 'RESULT_REVISED';
}

@StoredEvent('record.result-held')
export class ResultHeld extends RecordEvent {
  static readonly change = 'RESULT_HELD';
}

@StoredEvent('record.result-released')
export class ResultReleased extends RecordEvent {
  static readonly change = 'RESULT_RELEASED';
}

@StoredEvent('record.result-revoked')
export class ResultRevoked extends RecordEvent {
  static readonly change = 'RESULT_REVOKED';
}
