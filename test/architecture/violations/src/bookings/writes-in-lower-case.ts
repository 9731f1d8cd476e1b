export const SAVE = {
  text: `update eligibilities e set status = b.status from bookings b
         where b.account_code = $1 and e.svc_eligiblity_id = b.svc_eligiblity_id`,
};
