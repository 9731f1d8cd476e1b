/** The account and the codes in the sandbox that the benchmark's calls use. */
export interface Scene {
  accountCode: string;
  testCode: string;
  portionCode: string;
  schoolCode: string;
  accommodationCode: string;
  attributeKey: string;
}

/**
 * Builds a realistic body for a request that creates an eligibility. The body has 19 members, among them a school, an
 * accommodation and an attribute.
 */
export function createBody(scene: Scene, candidateId: string): string {
  return JSON.stringify({
    candidate: {
      candidate_id: candidateId,
      first_name: 'Ada',
      middle_name: 'Byron',
      last_name: 'Lovelace',
      address1: '12 St James Square',
      city: 'Springfield',
      province_state: 'IL',
      postal_code: '62701',
      country: 'US',
      email: 'ada@example.org',
      home_phone: '+1 217 555 0100',
      school_code: scene.schoolCode,
      special_accommodations: [scene.accommodationCode],
      additional_attributes: [{ key: scene.attributeKey, value: '2027' }],
    },
    test_code: scene.testCode,
    schedule_start_date: '2026-01-01T00:00:00Z',
    eligibility_end_date: '2036-01-01T00:00:00Z',
    registration_mode: 'Online',
  });
}

/** The body of a request that books an appointment at a test site. It is valid for any candidate. */
export const BOOKING_BODY = JSON.stringify({
  booking_on: '2027-03-01T09:00:00Z',
  delivery_mode: 'SITE_PROCTORED',
  location_code: 'TC-042',
  location_name: 'Springfield Test Center',
  location_address: '1 Main St, Springfield, IL',
  location_timezone: 'America/Chicago',
});
