import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsEmail,
  IsISO31661Alpha2,
  IsISO8601,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
  ValidateNested,
} from 'class-validator';

/** The Eligibility Model in the style of class-validator's manual. */
class PlainAttribute {
  @IsString() @Length(1, 50) key: string;
  @IsString() @MaxLength(1000) value: string;
}

class PlainCandidate {
  @IsString() @Length(1, 50) @Matches(/^[^/\\]+$/) candidate_id: string;
  @IsString() @Length(1, 100) first_name: string;
  @IsOptional() @IsString() @MaxLength(100) middle_name?: string;
  @IsString() @Length(1, 100) last_name: string;
  @IsOptional() @IsString() @MaxLength(20) suffix?: string;
  @IsOptional() @IsString() @MaxLength(200) address1?: string;
  @IsOptional() @IsString() @MaxLength(200) address2?: string;
  @IsOptional() @IsString() @MaxLength(100) city?: string;
  @IsOptional() @IsString() @MaxLength(100) province_state?: string;
  @IsOptional() @IsString() @MaxLength(20) postal_code?: string;
  @IsOptional() @IsISO31661Alpha2() country?: string;
  @IsOptional() @IsEmail() email?: string;
  @IsOptional() @IsString() @MaxLength(40) home_phone?: string;
  @IsOptional() @IsString() @MaxLength(40) office_phone?: string;
  @IsOptional() @IsString() @MaxLength(50) school_code?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(20) @IsString({ each: true }) special_accommodations?: string[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @ValidateNested({ each: true })
  @Type(() => PlainAttribute)
  additional_attributes?: PlainAttribute[];
}

export class PlainBody {
  @ValidateNested() @Type(() => PlainCandidate) candidate: PlainCandidate;
  @IsString() @Matches(/^[A-Za-z0-9-]{1,50}$/) test_code: string;
  @IsOptional() @IsString() @Matches(/^[A-Za-z0-9._-]{1,20}$/) client_eligibility_id?: string;
  @IsOptional() @IsISO8601() schedule_start_date?: string;
  @IsOptional() @IsISO8601() eligibility_end_date?: string;
  @IsOptional() @IsString() registration_mode?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(20) @IsString({ each: true }) portion_codes?: string[];
  @IsOptional() @IsArray() @ArrayMaxSize(20) @IsString({ each: true }) voucher_codes?: string[];
}
