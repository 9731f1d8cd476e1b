import * as ofRecords from '../../src/eligibility/eligibility.events';
import { RECORD_CHANGES } from '../../src/platform/changes/change.entity';
import { recordEventName, type RecordEventClass } from '../../src/platform/changes/record-event';
import { storedNameOf } from '../../src/platform/events/domain-event';
import * as ofResults from '../../src/results/results.events';

describe('the changes of records', () => {
  it('each kind of record change has one event class, whose stored name is derived from the name of the change', () => {
    const classes = [...Object.values(ofRecords), ...Object.values(ofResults)] as RecordEventClass[];
    const names = classes.map((eventClass) => [eventClass.change, storedNameOf(eventClass)]);
    expect(names.sort()).toEqual(RECORD_CHANGES.map((change) => [change, recordEventName(change)]).sort());
  });
});
