import { startApp, type TestApp } from './support/app';

describe('the flow', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('books', async () => {
    const scene = await app.given.scene();
    const el = await app.given.eligibility(scene);
    console.log(JSON.stringify(el));
    const b = await app.given.booking(scene, el);
    console.log(b);
    const v = await app.given.voucher(scene.account);
    const path = `/accounts/${scene.account}/candidates/${el['candidate'].candidate_id}`;
    console.log(await app.call('GET', path, { token: scene.token }));
    const c = { token: scene.token };
    for (const [m, p, body] of [
      [
        'PUT',
        `/accounts/${scene.account}/bookings/${b['booking_code']}`,
        { ...(b && {}), booking_on: b['booking_on'], delivery_mode: 'SVC_REMOTE_PROCTORED' },
      ],
      ['PUT', `${path}/tests/${scene.testCode}`, el],
      ['DELETE', `/accounts/${scene.account}/bookings/${b['booking_code']}`],
      ['PUT', `${path}/tests/${scene.testCode}/vouchers`, [v]],
      ['GET', `/eligibilities/${el['svc_eligiblity_id']}/testLaunchInfo`],
      ['GET', `${path}/eligibilities?status=active`],
      ['GET', `${path}/eligibilities`],
      ['GET', `/accounts/${scene.account}/eligibilities?limit=1`],
      [
        'POST',
        `/accounts/${scene.account}/candidates`,
        { candidate: { frist_name: 'x', country: 'zz' }, test_code: 'nope', voucher_codes: ['a'] },
      ],
      ['DELETE', `${path}/tests/${scene.testCode}`],
      ['DELETE', `${path}/tests/${scene.testCode}`],
      ['PUT', `${path}/tests/${scene.testCode}/vouchers`, '[1'],
    ] as [string, string, unknown][]) {
      const a = await app.call(m, p, { ...c, body });
      console.log(m, p, a.status, a.text, a.headers.get('link'));
      if (a.body?.launch_url) {
        const r = await fetch(a.body.launch_url, { redirect: 'manual' });
        console.log(r.status, r.headers.get('location'), await r.text());
        console.log((await fetch(a.body.launch_url, { redirect: 'manual' })).status);
      }
    }
    console.log(
      await app.given.sql('select name, stream, sequence, settled_at from domain_events'),
      await app.given.sql('select * from audit_log'),
    );
  });
});
