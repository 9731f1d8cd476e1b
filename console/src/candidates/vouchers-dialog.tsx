import { api } from '../api/client';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { Form, FormField, useForm } from '../components/form';
import type { CandidateRecord } from './record-text';

interface Props {
  record: CandidateRecord;
  onClose: () => void;
  done: () => void;
}

export function VouchersDialog({ record, onClose, done }: Props) {
  const { account_code: account, candidate, test_code: test } = record;
  const form = useForm({
    schema: 'VoucherCodesBody',
    initial: { voucher_codes: [...record.voucher_codes] },
    perform: async (body: { voucher_codes: string[] }) => {
      const path = { account_code: account, candidate_id: candidate.candidate_id, test_code: test };
      await api.PUT('/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/vouchers', {
        params: { path },
        body,
      });
      done();
    },
  });
  return (
    <Dialog title={`Vouchers for ${test}`} onClose={onClose}>
      <Form form={form} action="Save" more={<Button onPress={onClose}>Close</Button>}>
        <FormField
          form={form}
          name="voucher_codes"
          label="Voucher codes"
          hint="When you save, these codes will replace the record’s current voucher codes. A voucher that you remove can be used again."
        />
      </Form>
    </Dialog>
  );
}
