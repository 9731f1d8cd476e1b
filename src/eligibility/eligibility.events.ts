import { RecordEvent } from '../platform/changes/record-event.js';
import { StoredEvent } from '../platform/events/domain-event.js';

@StoredEvent('record.created')
export class EligibilityCreated extends RecordEvent {
  static readonly change = 'CREATED';
}

@StoredEvent('record.updated')
export class EligibilityUpdated extends RecordEvent {
  static readonly change = 'UPDATED';
}

@StoredEvent('record.approved')
export class AccommodationsApproved extends RecordEvent {
  static readonly change = 'APPROVED';
}

@StoredEvent('record.held')
export class EligibilityHeld extends RecordEvent {
  static readonly change = 'HELD';
}

@StoredEvent('record.released')
export class EligibilityReleased extends RecordEvent {
  static readonly change = 'RELEASED';
}

@StoredEvent('record.cancelled')
export class EligibilityCancelled extends RecordEvent {
  static readonly change = 'CANCELLED';
}

@StoredEvent('record.expiring')
export class EligibilityExpiring extends RecordEvent {
  static readonly change = 'EXPIRING';
}

@StoredEvent('record.expired')
export class EligibilityExpired extends RecordEvent {
  static readonly change = 'EXPIRED';
}

@StoredEvent('record.erased')
export class EligibilityErased extends RecordEvent {
  static readonly change = 'ERASED';
}
