import type { Fault } from '../platform/errors.js';
import { Faults } from '../platform/validation/faults.js';
import { locationFaults } from './bookings.rules.js';

const site = { location_code: 'C', location_name: 'N', location_address: 'A', location_timezone: 'America/Chicago' };
const codesOf = (faults: Fault[]) => faults.map(({ pointer, code }) => `${pointer} ${code}`);

describe('the location of a booking', () => {
  it('a booking at a site requires the location’s code, name, address and time zone', () => {
    expect(locationFaults({ delivery_mode: 'SITE_PROCTORED', ...site }, new Faults())).toEqual([]);
    expect(codesOf(locationFaults({ delivery_mode: 'SITE_PROCTORED' }, new Faults()))).toEqual([
      '/location_code required',
      '/location_name required',
      '/location_address required',
      '/location_timezone required',
    ]);
  });

  it("the location of a remote exam may contain only the candidate's time zone", () => {
    expect(locationFaults({ delivery_mode: 'SVC_REMOTE_PROCTORED' }, new Faults())).toEqual([]);
    expect(
      locationFaults({ delivery_mode: 'SVC_REMOTE_PROCTORED', location_timezone: 'Asia/Tokyo' }, new Faults()),
    ).toEqual([]);
    expect(codesOf(locationFaults({ delivery_mode: 'SVC_REMOTE_PROCTORED', ...site }, new Faults()))).toEqual([
      '/location_code not_allowed',
      '/location_name not_allowed',
      '/location_address not_allowed',
    ]);
  });

  it('the location of a booking is not checked when the delivery mode is invalid', () => {
    for (const pointer of ['/delivery_mode', '']) {
      const faults = new Faults();
      faults.add({ pointer, code: 'x', detail: 'x' });
      expect(locationFaults({ delivery_mode: 'SITE_PROCTORED' }, faults)).toEqual([]);
    }
  });
});
