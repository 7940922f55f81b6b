// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Calendar months in UTC
library Months {
    /// @notice Returns the calendar month of a time: year * 12 + month, January being 0.
    /// @dev Counts days from 1 March of the year 0 of the Gregorian calendar, so the
    /// leap day is the last of its year, in periods of 400 years: 146,097 days. From
    /// March on, month n begins on day (153 * n + 2) / 5.
    /// @param timestamp seconds since 1 January 1970; the result is truncated after
    /// the year 300,000
    function at(uint256 timestamp) internal pure returns (uint32) {
        unchecked {
            uint256 day = timestamp / 1 days + 719_468;
            uint256 era = day / 146_097;
            uint256 dayOfEra = day % 146_097;
            uint256 yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
            uint256 dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
            uint256 monthFromMarch = (5 * dayOfYear + 2) / 153;
            return uint32((era * 400 + yearOfEra) * 12 + monthFromMarch + 2);
        }
    }
}
