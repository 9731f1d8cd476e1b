import { search } from '../state-search';
import { FEED_CONFIGURATIONS, feedConfigurationOf } from './feed-configurations';
import { FEED_MUTATIONS, type FeedMutation } from './feed-mutations';
import { FeedModel } from './feed.model';

describe('the model of the change feed', () => {
  it.each(FEED_CONFIGURATIONS.map((configuration) => [configuration.name, configuration] as const))(
    'the model of the change feed keeps its promises in every state of the configuration %s',
    (_name, configuration) => {
      const { fault, trace, states, truncated } = search(new FeedModel(configuration));
      expect({ fault, trace, truncated }).toEqual({ fault: null, trace: [], truncated: false });
      expect(states).toBeGreaterThan(1_000);
    },
  );

  it.each(Object.keys(FEED_MUTATIONS) as FeedMutation[])(
    'the model of the change feed breaks a promise when the protocol has the mutation "%s"',
    (mutation) => {
      const { fault, trace } = search(new FeedModel(feedConfigurationOf(FEED_MUTATIONS[mutation].shownBy), mutation));
      expect(fault).not.toBeNull();
      expect(trace.length).toBeGreaterThan(1);
    },
  );
});
