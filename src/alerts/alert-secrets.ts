import { Injectable } from '@nestjs/common';
import { EncryptedColumns } from '../platform/database/encrypted-columns.js';
import { Secrets } from '../platform/secrets.js';
import type { Alert } from './alert.entity.js';

/** Encrypts and decrypts the values of an alert's headers. */
@Injectable()
export class AlertSecrets {
  constructor(
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    encrypted.add({
      table: 'alerts',
      key: ['name'],
      columns: { header_values: (row) => purpose(row['name'] as string) },
    });
  }

  /**
   * Returns the database columns for an alert's headers, which contain the names and the encrypted values of the
   * headers.
   */
  seal(
    name: string,
    headers: readonly { name: string; value: string }[],
  ): Pick<Alert, 'header_names' | 'header_values'> {
    const values = headers.map(({ value }) => value);
    return {
      header_names: headers.map((header) => header.name),
      header_values: values.length === 0 ? null : this.secrets.encrypt(JSON.stringify(values), purpose(name)),
    };
  }

  open({ name, header_names, header_values }: Alert): { name: string; value: string }[] {
    if (header_values === null) return [];
    const values = JSON.parse(this.secrets.decrypt(header_values, purpose(name)).toString('utf8')) as string[];
    return header_names.map((header, index) => ({ name: header, value: values[index] }));
  }
}

function purpose(name: string): string {
  return `alert ${name} headers`;
}
