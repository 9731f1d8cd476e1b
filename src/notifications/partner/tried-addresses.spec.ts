import { TriedAddresses } from './tried-addresses';

describe('the addresses of a partner', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  it('are tried in their order, each once', () => {
    expect(new TriedAddresses().inOrder(['b', 'a', 'b'])).toEqual(['b', 'a']);
  });

  it('that failed, or lost though they had begun before, come last for five minutes', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a']);
    addresses.worked('c', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['c', 'd', 'a', 'b']);
    now = 300_000;
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['a', 'b', 'c', 'd']);
  });

  it('that work again have their place again', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a', 'b']);
    addresses.worked('a', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c'])).toEqual(['a', 'c', 'b']);
  });
});
