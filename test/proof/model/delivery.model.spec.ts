import { configurationOf, SMALL } from './configurations';
import { DeliveryModel } from './delivery.model';
import { MUTATIONS, type Mutation } from './mutations';
import { search } from './state-search';

describe('the model of the delivery protocol', () => {
  it.each(SMALL.map((configuration) => [configuration.name, configuration] as const))(
    'the delivery model keeps its promises in every state of the configuration %s',
    (_name, configuration) => {
      const { fault, trace, states, truncated } = search(new DeliveryModel(configuration));
      expect({ fault, trace, truncated }).toEqual({ fault: null, trace: [], truncated: false });
      expect(states).toBeGreaterThan(1_000);
    },
  );

  it.each(Object.keys(MUTATIONS) as Mutation[])(
    'the delivery model breaks one of its promises under the mutation %s',
    (mutation) => {
      const { fault, trace } = search(new DeliveryModel(configurationOf(MUTATIONS[mutation].shownBy), mutation));
      expect(fault).not.toBeNull();
      // In the `always busy` configuration, the first state already breaks the promise, so the trace has a single line.
      expect(trace.length).toBeGreaterThan(MUTATIONS[mutation].shownBy === 'always busy' ? 0 : 1);
    },
  );
});
