//! Explains expressions: `cargo run -p turnabout-calendar --example explain -- Europe/Berlin 'Mon..Fri 15:00' ..`

use jiff::Timestamp;
use turnabout_calendar::{Expression, zone};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let zone = zone(&arguments.next().unwrap_or("UTC".to_owned()))?;
    let now = Timestamp::now();
    for text in arguments {
        match Expression::parse(&text) {
            Ok(expression) => {
                println!("{text}\n  {} {expression}", expression.language());
                println!("  {}", expression.describe(&zone));
                for time in expression.times_after(now, &zone, now).take(3) {
                    println!("  {}", time.to_zoned(zone.clone()));
                }
            }
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
