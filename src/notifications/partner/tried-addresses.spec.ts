import { TriedAddresses } from './tried-addresses';

describe('the addresses of a partner', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  it('tries the addresses in order, each once', () => {
    expect(new TriedAddresses().inOrder(['b', 'a', 'b'])).toEqual(['b', 'a']);
  });

  it('tries an address last for five minutes after it failed or was overtaken by a later address', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a']);
    addresses.worked('c', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['c', 'd', 'a', 'b']);
    now = 300_000;
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['a', 'b', 'c', 'd']);
  });

  it('tries an address in its position again once it works', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a', 'b']);
    addresses.worked('a', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c'])).toEqual(['a', 'c', 'b']);
  });
});
