@Entity('eligibilities')
export class Eligibility {}
