@Entity('accounts')
export class Account {}
