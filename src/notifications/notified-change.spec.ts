import * as ofRecords from '../eligibility/eligibility.events.js';
import { RECORD_CHANGES } from '../platform/changes/change.entity.js';
import { recordEventName, type RecordEventClass } from '../platform/changes/record-event.js';
import { storedNameOf } from '../platform/events/domain-event.js';
import * as ofResults from '../results/results.events.js';

describe('the changes of records', () => {
  it('each change has one class of events, which is stored under the name that SQL computes from the change', () => {
    const classes = [...Object.values(ofRecords), ...Object.values(ofResults)] as RecordEventClass[];
    const names = classes.map((eventClass) => [eventClass.change, storedNameOf(eventClass)]);
    expect(names.sort()).toEqual(RECORD_CHANGES.map((change) => [change, recordEventName(change)]).sort());
  });
});
