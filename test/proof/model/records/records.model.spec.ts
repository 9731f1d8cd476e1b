import { search } from '../state-search';
import { RECORDS_CONFIGURATIONS, recordsConfigurationOf } from './records-configurations';
import { RECORDS_MUTATIONS, type RecordsMutation } from './records-mutations';
import { RecordsModel } from './records.model';

describe("the model of records' events", () => {
  it.each(RECORDS_CONFIGURATIONS.map((configuration) => [configuration.name, configuration] as const))(
    'the model of record events keeps its promises in every state of the configuration %s',
    (_name, configuration) => {
      const { fault, trace, states, truncated } = search(new RecordsModel(configuration));
      expect({ fault, trace, truncated }).toEqual({ fault: null, trace: [], truncated: false });
      expect(states).toBeGreaterThan(1_000);
    },
  );

  it.each(Object.keys(RECORDS_MUTATIONS) as RecordsMutation[])(
    'the model of record events breaks a promise when the protocol has the mutation "%s"',
    (mutation) => {
      const configuration = recordsConfigurationOf(RECORDS_MUTATIONS[mutation].shownBy);
      const { fault, trace } = search(new RecordsModel(configuration, mutation));
      expect(fault).not.toBeNull();
      expect(trace.length).toBeGreaterThan(1);
    },
  );
});
