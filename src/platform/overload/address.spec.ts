import { networkIn, type ClientNetwork } from './address.js';

describe('the network of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:5555', '192.0.2.7'],
    [' 192.0.2.7 ', '192.0.2.7'],
    ['[192.0.2.7]:80', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:FFFF:C000:0207', '192.0.2.7'],
    ['[::ffff:c000:0207]:443', '192.0.2.7'],
    ['::ffff:7', '0:0:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2:3:4:5:6:443', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]:80', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::1:5555', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['[fe80::1%eth0]:80', 'fe80:0:0:0'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0'],
    ['', null],
    ['unknown', null],
    ['_hidden', null],
    ['unix:', null],
    ['localhost:80', null],
    ['192.0.2.7:', null],
    ['192.0.2.777', null],
    ['192.0.2.7.8', null],
    ['0300.0.2.7', null],
    ['[]:80', null],
    ['[2001:db8::1', null],
    ['2001:db8::1]:80', null],
    ["192.0.2.7' OR 1=1", null],
  ])('the network of the client address %j is %j', (address, network) => {
    expect(networkIn(address)).toBe(network);
  });

  it('TypeScript does not accept a plain string as the network of a client address', () => {
    // @ts-expect-error a plain string is not accepted as the network of an address
    const made: ClientNetwork = '192.0.2.7';
    expect(made).toBe('192.0.2.7');
  });
});
