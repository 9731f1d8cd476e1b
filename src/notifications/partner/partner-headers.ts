/** The headers of every request. No compression is requested, because a partner's response is not decompressed. */
export const OWN_HEADERS = { 'user-agent': 'candidate-eligibility-service', 'accept-encoding': 'identity' };
