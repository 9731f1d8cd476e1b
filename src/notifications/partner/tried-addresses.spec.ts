import { TriedAddresses } from './tried-addresses';

describe('the addresses of a partner', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  it('dials the addresses of a partner in the order in which the look-up returned them, and each only once', () => {
    expect(new TriedAddresses().inOrder(['b', 'a', 'b'])).toEqual(['b', 'a']);
  });

  it('for five minutes, dials an address last if it failed, or if another address connected first', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a']);
    addresses.worked('c', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['c', 'd', 'a', 'b']);
    now = 300_000;
    expect(addresses.inOrder(['a', 'b', 'c', 'd'])).toEqual(['a', 'b', 'c', 'd']);
  });

  it('restores the original position of a failed address after a connection to the address has succeeded', () => {
    const addresses = new TriedAddresses();
    addresses.failed(['a', 'b']);
    addresses.worked('a', ['b']);
    expect(addresses.inOrder(['a', 'b', 'c'])).toEqual(['a', 'c', 'b']);
  });
});
